#include "pcie_endpoint/commands.h"

#include <algorithm>

#include "common/error.h"
#include "gen/bytes.h"
#include "gen/wqe.h"

namespace carillon {

namespace {

/// 0 and 1 are the special queue pairs of management.
constexpr std::uint32_t FirstQpn = 2;
/// Other numbers begin at 1: 0 says "none".
constexpr std::uint32_t FirstNumber = 1;
constexpr std::uint32_t MaxPds = 1U << 24;
constexpr std::size_t PageEntryBytes = 8;
/// Where the page addresses follow in the inputs of all commands that create a queue.
constexpr std::size_t PagesAt = create_qp_in::Size;
static_assert(create_cq_in::Size == PagesAt && create_eq_in::Size == PagesAt &&
              create_srq_in::Size == PagesAt);
constexpr unsigned PageOffsetUnit = 64;
/// Keeps a page's size in 64 bits; no field of a queue but the SRQ's can say more.
constexpr unsigned MaxLogQueuePage = 31;
constexpr unsigned LogMaxMessage = 31;
constexpr unsigned LogMttLineEntries = 3;

command_tables make_tables(const command_limits& limits) {
  command_tables tables{
      .functions = {},
      .pd_numbers = {FirstNumber, MaxPds},
      .eq_numbers = {FirstNumber, 1U << limits.log_max_eq},
      .cq_numbers = {FirstNumber, 1U << limits.log_max_cq},
      .srq_numbers = {FirstNumber, 1U << limits.log_max_srq},
      .qp_numbers = {FirstQpn, 1U << limits.log_max_qp},
      .mkey_numbers = {FirstNumber, 1U << limits.log_max_mkey},
      .mtt_lines = run_pool(1U << limits.log_max_mtt_lines),
      .pds = {},
      .eqs = {},
      .cqs = {},
      .srqs = {},
      .mkeys = {},
      .qps = {},
  };
  function_record fresh(number_pool(FirstNumber, limits.uar_pages));
  fresh.gids.resize(limits.num_gids);
  fresh.pkeys = limits.pkeys;
  tables.functions.resize(limits.functions, fresh);
  return tables;
}

}  // namespace

command_core::command_core(const command_limits& limits)
    : limits_(limits), tables_(make_tables(limits)) {}

hca_cap command_core::capabilities(std::uint16_t function) const {
  hca_cap cap;
  cap.log_max_qp = limits_.log_max_qp;
  cap.log_max_cq = limits_.log_max_cq;
  cap.log_max_eq = limits_.log_max_eq;
  cap.log_max_srq = limits_.log_max_srq;
  cap.log_max_mkey = limits_.log_max_mkey;
  cap.log_max_mtt = static_cast<std::uint8_t>(limits_.log_max_mtt_lines + LogMttLineEntries);
  cap.log_max_qp_size = limits_.log_max_qp_size;
  cap.log_max_cq_size = limits_.log_max_cq_size;
  cap.log_max_eq_size = limits_.log_max_eq_size;
  cap.log_max_srq_size = limits_.log_max_srq_size;
  cap.log_max_msg = LogMaxMessage;
  cap.log_max_ra_req_qp = limits_.log_max_rd_atomic;
  cap.log_max_ra_res_qp = limits_.log_max_rd_atomic;
  cap.max_wqe_sz_sq = 16 * WqebbBytes;
  cap.num_uar_pages = limits_.uar_pages;
  cap.log_bf_reg_size = 9;  // two halves of MaxBlueFlameBytes
  cap.num_gids = limits_.num_gids;
  cap.num_pkeys = static_cast<std::uint8_t>(limits_.pkeys.size());
  cap.num_vfs = function == 0 ? static_cast<std::uint16_t>(limits_.functions - 1) : 0;
  cap.max_vfs = function == 0 ? limits_.max_vfs : 0;
  cap.function_id = function;
  cap.num_msix = limits_.msix_vectors;
  cap.roce = 1;
  cap.roce_v2 = 1;
  cap.atomic = 1;
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

command_result command_core::execute(std::uint16_t function, command_input input,
                                     std::span<std::uint8_t> output) {
  CARILLON_CHECK(output.size() >= cmd_out::Size, "pcie_endpoint: {} bytes of output are too few",
                 output.size());
  caller_ = function;
  effects_.lines.clear();
  effects_.qp.reset();
  effects_.cq.reset();
  effects_.srq.reset();
  output_.assign(MostOutputBytes, 0);
  command_result result;
  if (input.size() < cmd_in::Size || input.size() > MostInputBytes) {
    result = fail(command_status::BadInputLength, command_syndrome::InputLength);
  } else {
    result = dispatch(cmd_in::unpack(input.data()), input, output_.data());
  }
  // What is longer than a cmd_out is a query's, and queries change nothing.
  if (result.output_bytes > output.size()) {
    result = fail(command_status::BadOutputLength, command_syndrome::OutputLength);
  }
  if (result.status != command_status::Ok) {
    CARILLON_CHECK(effects_.none(), "pcie_endpoint: a refused command has effects");
    std::fill_n(output_.begin(), cmd_out::Size, std::uint8_t{0});
    result.output_bytes = cmd_out::Size;
  }
  std::fill(output.begin(), output.end(), std::uint8_t{0});
  std::copy_n(output_.begin(), result.output_bytes, output.begin());
  // Status and syndrome are at the same place in every output.
  output[cmd_out::at::Status] = static_cast<std::uint8_t>(result.status);
  bytes::store_be<4>(output.data() + cmd_out::at::Syndrome,
                     static_cast<std::uint32_t>(result.syndrome));
  return result;
}

command_result command_core::dispatch(const cmd_in& head, command_input input,
                                      std::uint8_t* output) {
  const command_result wrong_state =
      fail(command_status::BadSystemState, command_syndrome::FunctionState);
  switch (head.opcode) {
    case command_opcode::EnableHca:
      return enable(head, true);
    case command_opcode::DisableHca:
      return enable(head, false);
    default:
      break;
  }
  if (mine().state == function_state::reset) {
    return wrong_state;
  }
  switch (head.opcode) {
    case command_opcode::QueryHcaCap:
      capabilities(caller_).pack(output + cmd_out::Size);
      return {.output_bytes = cmd_out::Size + hca_cap::Size};
    case command_opcode::QueryNicVportContext:
      vport(caller_).pack(output + query_nic_vport_context_out::at::NicVportContext);
      return {.output_bytes = query_nic_vport_context_out::Size};
    case command_opcode::InitHca:
      if (mine().state != function_state::enabled) {
        return wrong_state;
      }
      mine().state = function_state::initialised;
      return done();
    default:
      break;
  }
  if (mine().state != function_state::initialised) {
    return wrong_state;
  }
  return dispatch_object(head, input, output);
}

command_result command_core::dispatch_object(const cmd_in& head, command_input input,
                                             std::uint8_t* output) {
  switch (head.opcode) {
    case command_opcode::TeardownHca:
      return teardown();
    case command_opcode::SetRoceAddress:
      return set_roce_address(input);
    case command_opcode::AllocPd:
      return alloc_pd(output);
    case command_opcode::DeallocPd:
      return dealloc_pd(head.number);
    case command_opcode::AllocUar:
      return alloc_uar(output);
    case command_opcode::DeallocUar:
      return dealloc_uar(head.number);
    case command_opcode::CreateMkey:
      return create_mkey(input, output);
    case command_opcode::DestroyMkey:
      return destroy_mkey(head.number);
    case command_opcode::QueryMkey:
      return query_mkey(head.number, output);
    case command_opcode::CreateEq:
      return create_eq(input, output);
    case command_opcode::DestroyEq:
      return destroy_eq(head.number);
    case command_opcode::QueryEq:
      return query_eq(head.number, output);
    case command_opcode::CreateCq:
      return create_cq(input, output);
    case command_opcode::DestroyCq:
      return destroy_cq(head.number);
    case command_opcode::QueryCq:
      return query_cq(head.number, output);
    case command_opcode::CreateSrq:
      return create_srq(input, output);
    case command_opcode::DestroySrq:
      return destroy_srq(head.number);
    case command_opcode::QuerySrq:
      return query_srq(head.number, output);
    case command_opcode::ArmRq:
      return arm_rq(input);
    case command_opcode::CreateQp:
      return create_qp(input, output);
    case command_opcode::DestroyQp:
      return destroy_qp(head.number);
    case command_opcode::QueryQp:
      return query_qp(head.number, output);
    case command_opcode::ToErrQp:
      return fail_qp(head.number);
    case command_opcode::ToRstQp:
      return reset_qp(head.number);
    default:
      return modify_qp(head, input);
  }
}

command_result command_core::enable(const cmd_in& head, bool on) {
  const std::uint32_t function = head.number & 0xffff;
  // A function enables itself; the PF may also do it for its VFs.
  if (function >= tables_.functions.size() || (function != caller_ && caller_ != 0)) {
    return fail(command_status::BadParameter, command_syndrome::BadFunction);
  }
  function_record& record = tables_.functions[function];
  if (on ? record.state != function_state::reset : record.state != function_state::enabled) {
    return fail(command_status::BadSystemState, command_syndrome::FunctionState);
  }
  record.state = on ? function_state::enabled : function_state::reset;
  return done();
}

command_result command_core::teardown() {
  // All other objects refer to one of these.
  const auto has = [this](const auto& table) {
    return std::any_of(table.begin(), table.end(),
                       [this](const auto& each) { return each.second.function == caller_; });
  };
  if (has(tables_.pds) || has(tables_.cqs) || has(tables_.eqs)) {
    return busy();
  }
  mine().state = function_state::enabled;
  return done();
}

command_result command_core::alloc_pd(std::uint8_t* output) {
  const std::uint32_t number = tables_.pd_numbers.take();
  if (number == 0) {
    return full();
  }
  tables_.pds.emplace(number, pd_record{.function = caller_});
  return created(number, output);
}

command_result command_core::dealloc_pd(std::uint32_t number) {
  const pd_record* pd = owned(tables_.pds, number);
  if (pd == nullptr) {
    return fail(command_status::BadResource, command_syndrome::NoPd);
  }
  if (pd->users != 0) {
    return busy();
  }
  tables_.pds.erase(number);
  tables_.pd_numbers.give_back(number);
  return done();
}

command_result command_core::alloc_uar(std::uint8_t* output) {
  const std::uint32_t page = mine().uars.take();
  if (page == 0) {
    return full();
  }
  mine().uar_pages.insert(page);
  return created(page, output);
}

command_result command_core::dealloc_uar(std::uint32_t number) {
  if (!mine().uar_pages.contains(number)) {
    return fail(command_status::BadResource, command_syndrome::NoUar);
  }
  const auto used_by = [&](const auto& table) {
    return std::any_of(table.begin(), table.end(), [&](const auto& each) {
      return each.second.function == caller_ && each.second.context.uar_page == number;
    });
  };
  if (used_by(tables_.qps) || used_by(tables_.cqs) || used_by(tables_.eqs)) {
    return busy();
  }
  mine().uar_pages.erase(number);
  mine().uars.give_back(number);
  return done();
}

command_result command_core::set_roce_address(command_input input) {
  if (input.size() < set_roce_address_in::Size) {
    return fail(command_status::BadInputLength, command_syndrome::InputLength);
  }
  const set_roce_address_in wanted = set_roce_address_in::unpack(input.data());
  if (wanted.roce_address_index >= mine().gids.size()) {
    return fail(command_status::BadIndex, command_syndrome::NoGid);
  }
  // The driver deletes an entry by writing zeros.
  const bool deleted = wanted.roce_address.source_l3_address == std::array<std::uint8_t, 16>{};
  mine().gids[wanted.roce_address_index] =
      deleted ? gid_entry{} : gid_entry{true, wanted.roce_address};
  return done();
}

std::optional<std::uint64_t> command_core::contiguous_base(command_input input,
                                                           const queue_shape& queue,
                                                           command_result& why) {
  if (queue.log_page_size > MaxLogQueuePage) {
    why = fail(command_status::BadParameter, command_syndrome::PageSize);
    return std::nullopt;
  }
  const std::uint64_t page = std::uint64_t{1} << (LogPageBase + queue.log_page_size);
  const std::uint64_t offset = std::uint64_t{queue.page_offset} * PageOffsetUnit;
  const std::uint64_t pages = (offset + queue.bytes + page - 1) / page;
  if (input.size() < PagesAt + pages * PageEntryBytes) {
    why = fail(command_status::BadInputLength, command_syndrome::InputLength);
    return std::nullopt;
  }
  const std::uint64_t first = bytes::load_be<8>(input.data() + PagesAt);
  for (std::uint64_t i = 0; i < pages; ++i) {
    const std::uint64_t each = bytes::load_be<8>(input.data() + PagesAt + i * PageEntryBytes);
    if (each % page != 0 || each != first + i * page) {
      why = fail(command_status::BadParameter, command_syndrome::QueueLayout);
      return std::nullopt;
    }
  }
  return first + offset;
}

}  // namespace carillon
