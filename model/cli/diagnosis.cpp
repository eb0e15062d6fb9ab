#include "cli/diagnosis.h"

#include <algorithm>
#include <fmt/format.h>

namespace carillon {

namespace {

struct cause_and_text {
  std::string cause;
  std::string text;
};

std::string with_code(const char* name, cqe_syndrome syndrome) {
  return fmt::format("{} (CQE 0x{:02x})", name, static_cast<unsigned>(syndrome));
}

cause_and_text protection(const symptom& of) {
  const std::string error = with_code("local protection error", of.syndrome);
  if (!of.asked) {
    return {"local_protection_error", error + ": a local key, its PD, range or rights are wrong"};
  }
  if (!of.key_pd) {
    return {"memory_not_registered", error + ": the device knows no such memory key"};
  }
  if (*of.key_pd != of.qp_pd) {
    return {"wrong_pd",
            fmt::format("{}: the key's PD {} is not the QP's, {}", error, *of.key_pd, of.qp_pd)};
  }
  return {"local_protection_error", error + ": the key does not allow this range or access"};
}

cause_and_text unanswered(const symptom& of, const std::vector<function_counts>& functions) {
  const std::string error = with_code("transport retry counter exceeded", of.syndrome);

  struct reason {
    const char* counter;
    const char* cause;
    const char* text;
  };

  constexpr reason Reasons[] = {
      {"tx_spoof_drops", "spoofed_address", "a frame with an address that is not its port's"},
      {"rx_steer_owner", "wrong_qp_owner", "a packet for a QP that another function owns"},
      {"rx_steer_overflow", "unknown_destination", "a frame for an address that no port has"},
      {"rx_drop_no_qp", "unknown_qp", "a packet for a QP that does not exist"},
  };
  for (const reason& each : Reasons) {
    for (const function_counts& function : functions) {
      if (const std::uint64_t count = function.value(each.counter); count != 0) {
        return {each.cause, fmt::format("{}: {} dropped {}, {} times ({})", error, function.where,
                                        each.text, count, each.counter)};
      }
    }
  }
  return {"timeout", error + ": the peer does not answer"};
}

cause_and_text of_completion(const symptom& of, const std::vector<function_counts>& functions) {
  switch (of.syndrome) {
    case cqe_syndrome::LocalProtection:
      return protection(of);
    case cqe_syndrome::RemoteInvalidRequest: {
      const std::string error = with_code("remote invalid request error", of.syndrome);
      if (of.peer_mtu != 0 && of.mtu != of.peer_mtu) {
        return {"mtu_mismatch", fmt::format("{}: the QP's path MTU is {} B, its peer's {} B", error,
                                            of.mtu, of.peer_mtu)};
      }
      return {"remote_invalid_request", error + ": the peer cannot take the request"};
    }
    case cqe_syndrome::RemoteAccess:
      return {"remote_access_error", with_code("remote access error", of.syndrome) +
                                         ": the peer's key does not allow this range or access"};
    case cqe_syndrome::TransportRetryExceeded:
      return unanswered(of, functions);
    case cqe_syndrome::RnrRetryExceeded:
      return {"receiver_not_ready", with_code("RNR retry counter exceeded", of.syndrome) +
                                        ": the peer has posted no receive"};
    case cqe_syndrome::LocalLength:
      return {"local_length_error", with_code("local length error", of.syndrome) +
                                        ": longer than the buffers or the MTU"};
    default:
      return {"cqe_error", with_code(to_string(of.syndrome), of.syndrome)};
  }
}

cause_and_text of_refusal(const symptom& of) {
  switch (of.detail) {
    case command_syndrome::NotTrusted:
      return {"trust_off",
              fmt::format("{}: a privileged field, and the VF is not trusted", of.text)};
    case command_syndrome::Partition:
      return {"partition", of.text};
    case command_syndrome::TableFull:
      return {"partition_exhausted",
              of.text + ": the function's part of the context RAM is used up"};
    case command_syndrome::PrivilegedFunction:
      return {"not_the_pf", of.text + ": only the PF may"};
    default:
      return {"command_refused", of.text};
  }
}

/// What counters alone tell, though no program was told anything.
void add_silent(const std::vector<function_counts>& functions, std::vector<finding>& into) {
  struct silent {
    const char* counter;
    const char* cause;
    const char* text;
  };

  constexpr silent Reasons[] = {
      {"db_ignored_owner", "wrong_qp_owner", "rang for a QP of another function or UAR page"},
      {"tx_spoof_drops", "spoofed_address", "sent frames with addresses that are not its port's"},
      {"ctx_partition_denied", "partition_denied",
       "asked for context that is not in its partition"},
  };
  for (const function_counts& function : functions) {
    for (const silent& each : Reasons) {
      const std::uint64_t count = function.value(each.counter);
      const bool known = std::any_of(into.begin(), into.end(), [&](const finding& other) {
        return other.cause == each.cause;
      });
      if (count != 0 && !known) {
        into.push_back(
            {each.cause,
             fmt::format("{} {} ({} times, {})", function.where, each.text, count, each.counter),
             function.where, count});
      }
    }
  }
}

}  // namespace

std::vector<finding> diagnose(const std::vector<symptom>& symptoms,
                              const std::vector<function_counts>& functions) {
  std::vector<finding> found;
  for (const symptom& each : symptoms) {
    if (each.what == symptom::kind::completion && each.syndrome == cqe_syndrome::WrFlushed) {
      continue;
    }
    cause_and_text told;
    switch (each.what) {
      case symptom::kind::completion:
        told = of_completion(each, functions);
        break;
      case symptom::kind::refusal:
        told = of_refusal(each);
        break;
      case symptom::kind::exhausted:
        told = {"vf_exhausted", each.text};
        break;
    }
    const auto same = std::find_if(found.begin(), found.end(),
                                   [&](const finding& other) { return other.cause == told.cause; });
    if (same != found.end()) {
      ++same->count;
    } else {
      found.push_back({told.cause, told.text, each.where, 1});
    }
  }
  add_silent(functions, found);
  return found;
}

}  // namespace carillon
