#include "pcie_endpoint/commands.h"

#include <algorithm>

#include "common/error.h"
#include "common/roce_packet.h"
#include "gen/bytes.h"
#include "gen/wqe.h"

namespace carillon {

namespace {

/// 0 and 1 are the special queue pairs of management.
constexpr std::uint32_t FirstQpn = 2;
constexpr std::uint32_t FirstCqn = 1;
constexpr std::uint32_t FirstMkeyIndex = 1;
constexpr std::uint32_t FirstPd = 1;
constexpr std::uint32_t FirstUarPage = 1;
constexpr std::size_t PageEntryBytes = 8;
/// Where the page addresses follow in the inputs of CREATE_QP and CREATE_CQ.
constexpr std::size_t PagesAt = create_qp_in::Size;
constexpr unsigned PageOffsetUnit = 64;
constexpr std::uint64_t CqeBytes = cqe64::Size;
constexpr unsigned LogMaxMessage = 31;

}  // namespace

std::uint32_t number_pool::take() {
  if (!free_.empty()) {
    const std::uint32_t number = *free_.begin();
    free_.erase(free_.begin());
    return number;
  }
  return next_ < end_ ? next_++ : 0;
}

command_core::command_core(const command_limits& limits)
    : limits_(limits),
      pd_numbers_(FirstPd, 1U << 24),
      cq_numbers_(FirstCqn, 1U << limits.log_max_cq),
      qp_numbers_(FirstQpn, 1U << limits.log_max_qp),
      mkey_numbers_(FirstMkeyIndex, 1U << limits.log_max_mkey) {
  functions_.resize(limits.functions, function_record(number_pool(FirstUarPage, limits.uar_pages)));
  for (function_record& each : functions_) {
    each.gids.resize(limits.num_gids);
  }
}

hca_cap command_core::capabilities(std::uint16_t function) const {
  hca_cap cap;
  cap.log_max_qp = limits_.log_max_qp;
  cap.log_max_cq = limits_.log_max_cq;
  cap.log_max_mkey = limits_.log_max_mkey;
  cap.log_max_qp_size = limits_.log_max_qp_size;
  cap.log_max_cq_size = limits_.log_max_cq_size;
  cap.log_max_msg = LogMaxMessage;
  cap.max_wqe_sz_sq = 16 * WqebbBytes;
  cap.num_uar_pages = limits_.uar_pages;
  cap.log_bf_reg_size = 9;  // two halves of MaxBlueFlameBytes
  cap.num_gids = limits_.num_gids;
  cap.num_vfs = function == 0 ? static_cast<std::uint16_t>(limits_.functions - 1) : 0;
  cap.max_vfs = function == 0 ? limits_.max_vfs : 0;
  cap.function_id = function;
  cap.num_msix = limits_.msix_vectors;
  cap.roce = 1;
  cap.roce_v2 = 1;
  cap.vport_group_manager = function == 0 ? 1 : 0;
  cap.max_mtu = mtu_code::Mtu4096;
  cap.clock_mhz = limits_.clock_mhz;
  cap.link_gbps = limits_.link_gbps;
  return cap;
}

nic_vport_context command_core::vport(std::uint16_t function) const {
  nic_vport_context port;
  port.roce_en = 1;
  port.mtu = limits_.port_mtu;
  port.permanent_address = mac(function);
  // The usual derivation of an EUI-64 from a MAC address: ff:fe in the middle.
  const std::uint64_t address = mac(function);
  port.node_guid = (address >> 24) << 40 | std::uint64_t{0xfffe} << 24 | (address & 0xffffff);
  port.port_guid = port.node_guid;
  port.system_image_guid = port.node_guid;
  return port;
}

command_result command_core::execute(std::uint16_t function, std::span<const std::uint8_t> input,
                                     std::span<std::uint8_t, WindowBytes> output) {
  caller_ = function;
  effects_.lines.clear();
  effects_.qp.reset();
  effects_.cq.reset();
  std::fill(output.begin(), output.end(), std::uint8_t{0});
  command_result result;
  if (input.size() < cmd_in::Size || input.size() > WindowBytes) {
    result = fail(command_status::BadInputLength, command_syndrome::InputLength);
  } else {
    result = dispatch(cmd_in::unpack(input.data()), input, output.data());
  }
  if (result.status != command_status::Ok) {
    CARILLON_CHECK(effects_.lines.empty() && !effects_.qp && !effects_.cq,
                   "pcie_endpoint: a refused command has effects");
    std::fill(output.begin(), output.end(), std::uint8_t{0});
    result.output_bytes = cmd_out::Size;
  }
  // Status and syndrome are at the same place in every output.
  output[cmd_out::at::Status] = static_cast<std::uint8_t>(result.status);
  bytes::store_be<4>(output.data() + cmd_out::at::Syndrome,
                     static_cast<std::uint32_t>(result.syndrome));
  return result;
}

command_result command_core::dispatch(const cmd_in& head, std::span<const std::uint8_t> input,
                                      std::uint8_t* output) {
  const function_state state = functions_[caller_].state;
  const auto created = [&](std::uint32_t number) -> command_result {
    if (number == 0) {
      return fail(command_status::NoResources, command_syndrome::TableFull);
    }
    cmd_out{.number = number}.pack(output);
    return {.output_bytes = cmd_out::Size};
  };

  switch (head.opcode) {
    case command_opcode::EnableHca:
      return enable(head, true);
    case command_opcode::DisableHca:
      return enable(head, false);
    default:
      break;
  }
  if (state == function_state::reset) {
    return fail(command_status::BadSystemState, command_syndrome::FunctionState);
  }
  switch (head.opcode) {
    case command_opcode::QueryHcaCap:
      capabilities(caller_).pack(output + cmd_out::Size);
      return {.output_bytes = cmd_out::Size + hca_cap::Size};
    case command_opcode::QueryNicVportContext:
      vport(caller_).pack(output + query_nic_vport_context_out::at::NicVportContext);
      return {.output_bytes = query_nic_vport_context_out::Size};
    case command_opcode::InitHca:
      if (state != function_state::enabled) {
        return fail(command_status::BadSystemState, command_syndrome::FunctionState);
      }
      functions_[caller_].state = function_state::initialised;
      return {.output_bytes = cmd_out::Size};
    default:
      break;
  }
  if (state != function_state::initialised) {
    return fail(command_status::BadSystemState, command_syndrome::FunctionState);
  }
  switch (head.opcode) {
    case command_opcode::TeardownHca:
      if (!pds_.empty() || !cqs_.empty()) {
        const auto mine = [&](const auto& each) { return each.second.function == caller_; };
        if (std::any_of(pds_.begin(), pds_.end(), mine) ||
            std::any_of(cqs_.begin(), cqs_.end(), mine)) {
          return fail(command_status::ResourceBusy, command_syndrome::InUse);
        }
      }
      functions_[caller_].state = function_state::enabled;
      return {.output_bytes = cmd_out::Size};
    case command_opcode::AllocPd: {
      const std::uint32_t number = pd_numbers_.take();
      if (number != 0) {
        pds_.emplace(number, pd_record{.function = caller_});
      }
      return created(number);
    }
    case command_opcode::AllocUar: {
      const std::uint32_t page = functions_[caller_].uars.take();
      if (page != 0) {
        functions_[caller_].uar_pages.insert(page);
      }
      return created(page);
    }
    case command_opcode::CreateMkey:
      return create_mkey(input, output);
    case command_opcode::CreateCq:
      return create_cq(input, output);
    case command_opcode::CreateQp:
      return create_qp(input, output);
    case command_opcode::DeallocPd:
    case command_opcode::DeallocUar:
    case command_opcode::DestroyMkey:
    case command_opcode::DestroyCq:
    case command_opcode::DestroyQp:
      return destroy(head);
    case command_opcode::Rst2InitQp:
    case command_opcode::Init2InitQp:
    case command_opcode::Init2RtrQp:
    case command_opcode::Rtr2RtsQp:
    case command_opcode::Rts2RtsQp:
    case command_opcode::ToErrQp:
    case command_opcode::ToRstQp:
      return modify_qp(head, input);
    case command_opcode::QueryQp:
      return query_qp(head, output);
    case command_opcode::SetRoceAddress:
      return set_roce_address(input);
    default:
      return fail(command_status::BadOperation, command_syndrome::UnknownCommand);
  }
}

command_result command_core::enable(const cmd_in& head, bool on) {
  const std::uint32_t function = head.number & 0xffff;
  // A function enables itself; the PF may also do it for its VFs.
  if (function >= functions_.size() || (function != caller_ && caller_ != 0)) {
    return fail(command_status::BadParameter, command_syndrome::BadFunction);
  }
  function_record& record = functions_[function];
  if (on ? record.state != function_state::reset : record.state != function_state::enabled) {
    return fail(command_status::BadSystemState, command_syndrome::FunctionState);
  }
  record.state = on ? function_state::enabled : function_state::reset;
  return {.output_bytes = cmd_out::Size};
}

/// The input's pages form one range; its first byte, or nothing.
std::optional<std::uint64_t> command_core::contiguous_base(std::span<const std::uint8_t> input,
                                                           std::uint64_t bytes,
                                                           std::uint8_t log_page_size,
                                                           std::uint8_t page_offset,
                                                           command_result& why) {
  const std::uint64_t page = std::uint64_t{1} << (LogPageBase + log_page_size);
  const std::uint64_t offset = std::uint64_t{page_offset} * PageOffsetUnit;
  const std::uint64_t pages = (offset + bytes + page - 1) / page;
  if (input.size() < PagesAt + pages * PageEntryBytes) {
    why = {command_status::BadInputLength, command_syndrome::InputLength, cmd_out::Size};
    return std::nullopt;
  }
  const std::uint64_t first = bytes::load_be<8>(input.data() + PagesAt);
  for (std::uint64_t i = 0; i < pages; ++i) {
    const std::uint64_t each = bytes::load_be<8>(input.data() + PagesAt + i * PageEntryBytes);
    if (each % page != 0 || each != first + i * page) {
      why = {command_status::BadParameter, command_syndrome::QueueLayout, cmd_out::Size};
      return std::nullopt;
    }
  }
  return first + offset;
}

command_result command_core::create_mkey(std::span<const std::uint8_t> input,
                                         std::uint8_t* output) {
  if (input.size() < create_mkey_in::at::MemoryKeyMkeyEntry + mkc::Size) {
    return fail(command_status::BadInputLength, command_syndrome::InputLength);
  }
  const mkc wanted = mkc::unpack(input.data() + create_mkey_in::at::MemoryKeyMkeyEntry);
  pd_record* pd = owned(pds_, wanted.pd);
  if (pd == nullptr) {
    return fail(command_status::BadResource, command_syndrome::NoPd);
  }
  if (wanted.access_mode_4_2 != 0 || wanted.access_mode_1_0 != mkey_access_mode::Physical ||
      wanted.free != 0) {
    return fail(command_status::BadParameter, command_syndrome::AccessMode);
  }
  if (wanted.length64 == 0 &&
      (wanted.len == 0 || wanted.start_addr + wanted.len < wanted.start_addr)) {
    return fail(command_status::BadParameter, command_syndrome::Range);
  }
  const std::uint32_t index = mkey_numbers_.take();
  if (index == 0) {
    return fail(command_status::NoResources, command_syndrome::TableFull);
  }
  mkeys_.emplace(index, mkey_record{.function = caller_, .pd = wanted.pd});
  ++pd->users;
  mkey_line line;
  line.valid = 1;
  line.length64 = wanted.length64;
  line.contiguous = 1;
  line.lr = wanted.lr;
  line.lw = wanted.lw;
  line.rr = wanted.rr;
  line.rw = wanted.rw;
  line.a = wanted.a;
  line.variant = wanted.mkey_7_0;
  line.function_id = caller_;
  line.pd = wanted.pd;
  line.qpn = wanted.qpn;
  line.start_addr = wanted.start_addr;
  line.len = wanted.len;
  line.phys_base = wanted.start_addr;  // physical mode: the virtual address is the IOVA
  write_line(context_kind::mkey, index, line);
  cmd_out{.number = index}.pack(output);
  return {.output_bytes = cmd_out::Size};
}

command_result command_core::create_cq(std::span<const std::uint8_t> input, std::uint8_t* output) {
  if (input.size() < PagesAt) {
    return fail(command_status::BadInputLength, command_syndrome::InputLength);
  }
  const cqc wanted = cqc::unpack(input.data() + create_cq_in::at::CqContext);
  if (!functions_[caller_].uar_pages.contains(wanted.uar_page)) {
    return fail(command_status::BadResource, command_syndrome::NoUar);
  }
  if (wanted.log_cq_size > limits_.log_max_cq_size) {
    return fail(command_status::LimitExceeded, command_syndrome::QueueSize);
  }
  if (wanted.cqe_sz != 0 || wanted.cqe_comp_en != 0) {
    return fail(command_status::BadParameter, command_syndrome::Option);
  }
  command_result why;
  const auto base = contiguous_base(input, CqeBytes << wanted.log_cq_size, wanted.log_page_size,
                                    wanted.page_offset, why);
  if (!base) {
    return why;
  }
  const std::uint32_t cqn = cq_numbers_.take();
  if (cqn == 0) {
    return fail(command_status::NoResources, command_syndrome::TableFull);
  }
  cqs_.emplace(cqn, cq_record{.function = caller_});
  cqc_line line;
  line.valid = 1;
  line.arm_state = wanted.st;
  line.oi = wanted.oi;
  line.log_cq_size = wanted.log_cq_size;
  line.function_id = caller_;
  line.eqn = static_cast<std::uint8_t>(wanted.c_eqn_or_apu_element);
  line.uar_page = wanted.uar_page;
  line.base_addr = *base;
  line.dbr_addr = wanted.dbr_addr;
  line.period = wanted.cq_period;
  line.max_count = wanted.cq_max_count;
  write_line(context_kind::cqc, cqn, line);
  effects_.cq = cq_command{.cqn = cqn};
  cmd_out{.number = cqn}.pack(output);
  return {.output_bytes = cmd_out::Size};
}

command_result command_core::destroy(const cmd_in& head) {
  const command_result busy = fail(command_status::ResourceBusy, command_syndrome::InUse);
  switch (head.opcode) {
    case command_opcode::DeallocPd: {
      const pd_record* pd = owned(pds_, head.number);
      if (pd == nullptr) {
        return fail(command_status::BadResource, command_syndrome::NoPd);
      }
      if (pd->users != 0) {
        return busy;
      }
      pds_.erase(head.number);
      pd_numbers_.give_back(head.number);
      break;
    }
    case command_opcode::DeallocUar: {
      function_record& mine = functions_[caller_];
      if (!mine.uar_pages.contains(head.number)) {
        return fail(command_status::BadResource, command_syndrome::NoUar);
      }
      const auto uses = [&](const auto& each) {
        return each.second.function == caller_ && each.second.context.uar_page == head.number;
      };
      if (std::any_of(qps_.begin(), qps_.end(), uses)) {
        return busy;
      }
      mine.uar_pages.erase(head.number);
      mine.uars.give_back(head.number);
      break;
    }
    case command_opcode::DestroyMkey: {
      // The number is the index, as CREATE_MKEY returned it.
      const mkey_record* mkey = owned(mkeys_, head.number);
      if (mkey == nullptr) {
        return fail(command_status::BadResource, command_syndrome::NoMkey);
      }
      --pds_.at(mkey->pd).users;
      write_line(context_kind::mkey, head.number, mkey_line{});
      mkeys_.erase(head.number);
      mkey_numbers_.give_back(head.number);
      break;
    }
    case command_opcode::DestroyCq: {
      const cq_record* cq = owned(cqs_, head.number);
      if (cq == nullptr) {
        return fail(command_status::BadResource, command_syndrome::NoCq);
      }
      if (cq->users != 0) {
        return busy;
      }
      write_line(context_kind::cqc, head.number, cqc_line{});
      effects_.cq = cq_command{.cqn = head.number};
      cqs_.erase(head.number);
      cq_numbers_.give_back(head.number);
      break;
    }
    default: {
      qp_record* qp = owned(qps_, head.number);
      if (qp == nullptr) {
        return fail(command_status::BadResource, command_syndrome::NoQp);
      }
      --pds_.at(qp->context.pd).users;
      --cqs_.at(qp->context.cqn_snd).users;
      --cqs_.at(qp->context.cqn_rcv).users;
      qp->common.state = qp_state::Reset;
      // First the line that says that there is a QP, so that nobody sees half of one.
      write_line(context_kind::qpc_common, head.number, qpc_common{});
      write_line(context_kind::qpc_address, head.number, qpc_address{});
      write_line(context_kind::qpc_requester, head.number, qpc_requester{});
      write_line(context_kind::qpc_responder, head.number, qpc_responder{});
      tell_owners(head.number, *qp);
      qps_.erase(head.number);
      qp_numbers_.give_back(head.number);
      break;
    }
  }
  return {.output_bytes = cmd_out::Size};
}

command_result command_core::set_roce_address(std::span<const std::uint8_t> input) {
  if (input.size() < set_roce_address_in::Size) {
    return fail(command_status::BadInputLength, command_syndrome::InputLength);
  }
  const set_roce_address_in wanted = set_roce_address_in::unpack(input.data());
  function_record& mine = functions_[caller_];
  if (wanted.roce_address_index >= mine.gids.size()) {
    return fail(command_status::BadIndex, command_syndrome::NoGid);
  }
  mine.gids[wanted.roce_address_index] = {true, wanted.roce_address};
  return {.output_bytes = cmd_out::Size};
}

}  // namespace carillon
