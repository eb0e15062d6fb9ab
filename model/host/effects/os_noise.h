// What the operating system takes of a core: a seeded process of interruptions, one behind the
// other. Off (not made) unless cpu.noise.
#pragma once

#include <cstdint>
#include <string>

#include "common/random.h"
#include "common/types.h"
#include "gen/params.h"

namespace carillon {

struct interruption {
  ps_t begin = NeverPs;
  ps_t end = NeverPs;
};

class os_noise {
 public:
  os_noise(const parameters& params, std::uint64_t seed, const std::string& core);

  /// The first interruption that ends after `when`, which never goes back.
  const interruption& after(ps_t when);

 private:
  void draw();

  const parameters& params_;
  random_stream random_;
  interruption next_;
};

}  // namespace carillon
