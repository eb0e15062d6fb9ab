#include "common/pcie_rate.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "common/error.h"
#include "gen/tlp.h"

namespace carillon {

namespace {

pcie_rate reduced(std::uint64_t num, std::uint64_t den) {
  const std::uint64_t common = std::gcd(num, den);
  return {num / common, den / common};
}

const pcie_generation_row& generation_row(unsigned generation) {
  for (const auto& row : PcieGeneration) {
    if (row.generation == generation) {
      return row;
    }
  }
  throw config_error(fmt::format("PCIe generation {} is not known: 1 to {} are", generation,
                                 PcieGeneration.back().generation));
}

void require_lanes(unsigned lanes) {
  if (lanes == 0 || lanes > 16 || (lanes & (lanes - 1)) != 0) {
    throw config_error(
        fmt::format("a PCIe link of {} lanes: 1, 2, 4, 8 or 16 are possible", lanes));
  }
}

void require_payload(unsigned max_payload) {
  for (unsigned code = 0; code < MaxPayloadCodes; ++code) {
    if (max_payload == 128U << code) {
      return;
    }
  }
  throw config_error(
      fmt::format("a maximum payload of {} bytes: 128, 256, 512, 1024, 2048 or 4096 are possible",
                  max_payload));
}

/// The guideline's factor, times ten.
unsigned update_factor(unsigned lanes, unsigned max_payload) {
  if (max_payload > 256) {
    return lanes <= 8 ? 10 : 20;
  }
  return lanes <= 4 ? 14 : lanes <= 8 ? 25 : 30;
}

}  // namespace

std::uint32_t flow_update_interval(unsigned generation, unsigned lanes, unsigned max_payload) {
  return (max_payload + 28) * update_factor(lanes, max_payload) / (10 * lanes) +
         generation_row(generation).update_fc_delay;
}

pcie_rate raw_rate(unsigned generation, unsigned lanes) {
  require_lanes(lanes);
  const auto& row = generation_row(generation);
  // MT/s * lanes * encoding is Mb/s; 8 bits and 10^6 ps make it bytes per ps.
  return reduced(std::uint64_t{row.megatransfers} * lanes * row.encoding_num,
                 std::uint64_t{row.encoding_den} * 8 * 1'000'000);
}

pcie_rate tlp_rate(unsigned generation, unsigned lanes, unsigned max_payload, bool derate) {
  require_payload(max_payload);
  const pcie_rate raw = raw_rate(generation, lanes);
  if (!derate) {
    return raw;
  }

  // The published table; the guideline for the links that it leaves out.
  std::uint64_t ack = flow_update_interval(generation, lanes, max_payload);
  std::uint64_t fc = ack;
  for (const auto& row : DllpInterval) {
    if (generation >= row.min_generation && generation <= row.max_generation &&
        lanes == row.width && max_payload == row.max_payload) {
      ack = row.ack_limit;
      fc = row.fc_guide;
    }
  }

  // 1 - 8/ack - 8/fc - 4/1538 over one denominator.
  const std::uint64_t whole = ack * fc * SkipIntervalSymbols;
  const std::uint64_t lost =
      DllpWireBytes * (ack + fc) * SkipIntervalSymbols + SkipBytes * ack * fc;
  const pcie_rate share = reduced(whole - lost, whole);

  const std::uint64_t across = std::gcd(raw.num, share.den);
  const std::uint64_t other = std::gcd(share.num, raw.den);
  return {raw.num / across * (share.num / other), raw.den / other * (share.den / across)};
}

serializer::serializer(pcie_rate rate) : rate_(rate) {
  // take() keeps bytes_ below num plus one TLP.
  CARILLON_CHECK(rate.num != 0 && rate.den != 0 && rate.den < std::uint64_t{1} << 40 &&
                     (rate.num + 8192) < std::numeric_limits<std::uint64_t>::max() / 2 / rate.den,
                 "the rate {}/{} bytes per ps leaves no room for exact times", rate.num, rate.den);
}

ps_t serializer::take(ps_t now, std::uint64_t bytes) {
  // At exactly free_at() the busy period goes on: a new epoch there would add up the roundings.
  if (now > free_at()) {
    epoch_ = now;
    bytes_ = 0;
  }
  // After num bytes den picoseconds have passed exactly.
  if (bytes_ >= rate_.num) {
    epoch_ += bytes_ / rate_.num * rate_.den;
    bytes_ %= rate_.num;
  }
  const ps_t departure = free_at();
  bytes_ += bytes;
  return departure;
}

}  // namespace carillon
