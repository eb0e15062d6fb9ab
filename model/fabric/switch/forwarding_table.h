// Which port, or which of several equal ones, a destination address is behind.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace carillon {

class forwarding_table {
 public:
  explicit forwarding_table(std::uint64_t seed);

  /// Static: learning never changes it. Throws config_error for no ports or a group address.
  void set(std::uint64_t address, std::vector<std::uint32_t> ports);

  /// The address was seen as a source at that port.
  void learn(std::uint64_t address, std::uint32_t port);

  /// Among equal ports the UDP source port chooses: packets of a flow stay in order.
  [[nodiscard]] std::optional<std::uint32_t> find(std::uint64_t address,
                                                  std::uint16_t udp_source) const;

  /// Which of `count` equal ports a flow takes.
  [[nodiscard]] std::uint32_t choice(std::uint16_t udp_source, std::uint32_t count) const;

  [[nodiscard]] std::size_t size() const { return used_; }

 private:
  static constexpr std::uint64_t NoAddress = ~std::uint64_t{0};

  struct entry {
    std::uint64_t address = NoAddress;
    std::uint32_t port = 0;   ///< learned or single
    std::uint32_t first = 0;  ///< in group_ports_
    std::uint32_t count = 0;  ///< of a group; 0: `port`
    bool is_static = false;
  };

  [[nodiscard]] std::size_t place_of(std::uint64_t address) const;
  entry& at(std::uint64_t address);
  void grow();

  std::uint64_t seed_;
  std::vector<entry> entries_;  ///< a power of two, at most half of them used
  std::size_t used_ = 0;
  std::vector<std::uint32_t> group_ports_;
};

}  // namespace carillon
