#include "cosim/wqe_parser_contexts.h"

#include "common/random.h"

namespace carillon {

namespace {

constexpr std::uint64_t LastAddress = ~std::uint64_t{0};
constexpr std::uint64_t KeyBytes = std::uint64_t{1} << 34;

}  // namespace

wqe_parser_contexts::wqe_parser_contexts(std::uint64_t seed) {
  random_stream random(seed, "wqe_parser_bench/contexts");
  const auto function_of = [](unsigned number) {
    return static_cast<std::uint16_t>(1 + number % Domains / 2);
  };
  for (unsigned q = 0; q < Qps; ++q) {
    qpc_common& line = qps[q];
    line.valid = q != 1;
    line.state = q < 16 ? static_cast<qp_state>(q / 2) : qp_state::Rts;
    line.service = q % 8 == 5 || q % 8 == 7 ? qp_service::Ud
                   : q % 8 == 3             ? qp_service::Uc
                                            : qp_service::Rc;
    if (q == 20 || q == 30) {
      line.service = static_cast<qp_service>(q == 20 ? 3 : 6);  // nothing that the chip serves
    }
    line.mtu = static_cast<mtu_code>(1 + random.below(5));
    line.sig_enable = q % 32 >= 24;
    line.pd = q % Domains;
    line.function_id = function_of(q);
    line.cq_num_send = static_cast<std::uint32_t>(random.below(1U << 24));
  }
  for (unsigned k = 0; k < Keys; ++k) {
    mkey_line& line = keys[k];
    const unsigned kind = k - k % Domains;
    line.valid = kind != Invalid;
    line.pd = k % Domains;
    line.function_id = function_of(k);
    if (kind == Foreign) {
      line.function_id += 7;
    }
    line.qpn = k < Bound ? MkeyAnyQp : k - Bound;
    line.variant = static_cast<std::uint8_t>(random.below(256));
    line.lr = kind != WriteOnly;
    line.lw = kind != ReadOnly;
    line.contiguous = k / Domains % 2;
    line.length64 = kind == Whole;
    line.start_addr = random.next() >> 1;
    line.len = kind == Short ? random.below(8192) : KeyBytes;
    if (kind == ToEnd || kind == BeyondEnd) {
      line.start_addr = LastAddress - 4095;
      line.len = kind == ToEnd ? 4095 : 4096;
    }
  }
}

}  // namespace carillon
