#include "common/error.h"

#include <cstring>

namespace carillon {

void fail_check(const char* condition, const char* file, int line, const std::string& message) {
  const char* base = std::strrchr(file, '/');
  throw model_error(fmt::format("{} (check `{}` failed at {}:{})", message, condition,
                                base != nullptr ? base + 1 : file, line));
}

}  // namespace carillon
