#include "tb/common/roce_vectors.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace carillon::test {

frame_bytes from_hex(std::string_view hex) {
  frame_bytes bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(
        static_cast<std::uint8_t>(std::stoul(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

const std::vector<roce_vector>& roce_vectors() {
  static const std::vector<roce_vector> vectors = [] {
    std::ifstream file("tb/golden/roce_vectors.json");
    if (!file) {
      throw std::runtime_error(
          "tb/golden/roce_vectors.json: run the tests from the project's root");
    }
    std::vector<roce_vector> result;
    const nlohmann::json document = nlohmann::json::parse(file);
    for (const auto& entry : document.at("vectors")) {
      result.push_back({entry.at("name"), entry.at("rocev2"), entry.at("icrc_ok"),
                        from_hex(entry.at("icrc").get<std::string>()),
                        from_hex(entry.at("hex").get<std::string>())});
    }
    return result;
  }();
  return vectors;
}

std::vector<roce_vector> positive_vectors() {
  std::vector<roce_vector> result;
  for (const auto& each : roce_vectors()) {
    if (each.rocev2) {
      result.push_back(each);
    }
  }
  return result;
}

const roce_vector& vector_named(std::string_view name) {
  for (const auto& each : roce_vectors()) {
    if (each.name == name) {
      return each;
    }
  }
  throw std::runtime_error("no golden frame is called " + std::string(name));
}

}  // namespace carillon::test
