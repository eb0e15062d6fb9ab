#include "cosim/wqe_parser_contexts.h"

#include "common/random.h"

namespace carillon {

namespace {

using contexts = wqe_parser_contexts;

constexpr std::uint64_t LastAddress = ~std::uint64_t{0};
constexpr std::uint64_t KeyBytes = std::uint64_t{1} << 34;

/// The PDs and the functions of the domains.
struct owners {
  std::array<std::uint32_t, contexts::Domains> pds{};
  std::array<std::uint16_t, contexts::Domains> functions{};
};

owners make_owners(random_stream& random) {
  owners all;
  for (unsigned domain = 0; domain < contexts::Domains; ++domain) {
    all.pds[domain] = static_cast<std::uint32_t>(random.below(1U << 24));
    all.functions[domain] =
        domain % 2 == 0 ? static_cast<std::uint16_t>(random.next()) : all.functions[domain - 1];
  }
  return all;
}

qp_service service_of(unsigned q) {
  if (q == 20 || q == 30) {
    return static_cast<qp_service>(q == 20 ? 3 : 6);  // nothing that the chip serves
  }
  if (q % 8 == 5 || q % 8 == 7) {
    return qp_service::Ud;
  }
  return q % 8 == 3 ? qp_service::Uc : qp_service::Rc;
}

qpc_common make_qp(unsigned q, const owners& whose, random_stream& random) {
  qpc_common line;
  line.valid = q != 1;
  line.state = q < 16 ? static_cast<qp_state>(q / 2) : qp_state::Rts;
  line.service = service_of(q);
  line.mtu = static_cast<mtu_code>(1 + random.below(5));
  line.sig_enable = q % 32 >= 24;
  line.pd = whose.pds[q % contexts::Domains];
  line.function_id = whose.functions[q % contexts::Domains];
  line.cq_num_send = static_cast<std::uint32_t>(random.below(1U << 24));
  return line;
}

mkey_line make_key(unsigned k, const owners& whose,
                   const std::array<std::uint32_t, contexts::Qps>& qp_numbers,
                   random_stream& random) {
  const unsigned kind = k - k % contexts::Domains;
  mkey_line line;
  line.valid = kind != contexts::Invalid;
  line.pd = whose.pds[k % contexts::Domains];
  line.function_id = whose.functions[k % contexts::Domains];
  if (kind == contexts::Foreign) {
    line.function_id ^= static_cast<std::uint16_t>(1U << random.below(16));
  }
  line.qpn = k < contexts::Bound ? MkeyAnyQp : qp_numbers[k - contexts::Bound];
  line.variant = static_cast<std::uint8_t>(random.below(256));
  line.lr = kind != contexts::WriteOnly;
  line.lw = kind != contexts::ReadOnly;
  line.contiguous = k / contexts::Domains % 2;
  line.length64 = kind == contexts::Whole;
  line.start_addr = random.next() >> 1;
  line.len = kind == contexts::Short ? random.below(8192) : KeyBytes;
  if (kind == contexts::ToEnd || kind == contexts::BeyondEnd) {
    line.start_addr = LastAddress - 4095;
    line.len = kind == contexts::ToEnd ? 4095 : 4096;
  }
  return line;
}

}  // namespace

wqe_parser_contexts::wqe_parser_contexts(std::uint64_t seed) {
  random_stream random(seed, "wqe_parser_bench/contexts");
  const owners whose = make_owners(random);
  for (unsigned q = 0; q < Qps; ++q) {
    qp_numbers[q] = q + Qps * static_cast<std::uint32_t>(random.below((1U << 24) / Qps - 1));
    qps[q] = make_qp(q, whose, random);
  }
  for (unsigned k = 0; k < Keys; ++k) {
    // The highest bit is for keys that nobody has.
    key_numbers[k] = k + Keys * static_cast<std::uint32_t>(random.below((1U << 23) / Keys));
    keys[k] = make_key(k, whose, qp_numbers, random);
  }
}

}  // namespace carillon
