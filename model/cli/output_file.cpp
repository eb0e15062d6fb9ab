#include "cli/output_file.h"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <system_error>
#include <utility>

#include "common/error.h"

namespace carillon {

void fail_output(const std::filesystem::path& path, std::string_view what) {
  const int reason = errno;
  throw output_error(fmt::format("{}: {}: {}", path.string(), what,
                                 reason != 0 ? std::strerror(reason) : "unknown reason"));
}

void make_output_folder(const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    errno = failed.value();
    fail_output(folder, "cannot create the output folder");
  }
}

output_file::output_file(std::filesystem::path path)
    : path_(std::move(path)), part_(path_.string() + PartSuffix) {
  errno = 0;
  file_ = std::fopen(part_.c_str(), "w");
  if (file_ == nullptr) {
    fail_output(path_, "cannot be written");
  }
}

output_file::~output_file() {
  if (file_ != nullptr) {
    std::fclose(file_);
    std::error_code ignored;
    std::filesystem::remove(part_, ignored);
  }
}

void output_file::write(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) {
    fail_output(path_, "cannot be written");
  }
}

void output_file::commit() {
  errno = 0;
  if (std::fflush(file_) != 0) {
    fail_output(path_, "cannot be written");
  }
  const int closed = std::fclose(std::exchange(file_, nullptr));
  std::error_code failed;
  if (closed == 0) {
    std::filesystem::rename(part_, path_, failed);
  }
  if (closed != 0 || failed) {
    const int reason = failed ? failed.value() : errno;
    std::error_code ignored;
    std::filesystem::remove(part_, ignored);
    errno = reason;
    fail_output(path_, "cannot be written");
  }
}

void write_file(const std::filesystem::path& path, std::string_view text) {
  output_file file(path);
  file.write(text);
  file.commit();
}

void print(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    fail_output("standard output", "cannot be written");
  }
}

}  // namespace carillon
