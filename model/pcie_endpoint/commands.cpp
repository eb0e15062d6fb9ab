#include "pcie_endpoint/commands.h"

#include <algorithm>

#include "common/error.h"
#include "gen/bytes.h"

namespace carillon {

namespace {

constexpr std::uint32_t FirstPd = 1;  // 0 says "none"
constexpr std::uint32_t MaxPds = 1U << 24;
constexpr std::size_t PageEntryBytes = 8;
/// Where the page addresses follow in the inputs of all commands that create a queue.
constexpr std::size_t PagesAt = create_qp_in::Size;
static_assert(create_cq_in::Size == PagesAt && create_eq_in::Size == PagesAt &&
              create_srq_in::Size == PagesAt);
constexpr unsigned PageOffsetUnit = 64;
/// Keeps a page's size in 64 bits; no field of a queue but the SRQ's can say more.
constexpr unsigned MaxLogQueuePage = 31;

}  // namespace

command_core::command_core(const command_limits& limits, const counter_block* counters)
    : limits_(limits), counters_(counters) {
  tables_.functions = fresh_functions();
  tables_.pd_numbers = {FirstPd, MaxPds};
  tables_.reaction = limits.reaction;
  tables_.notification = limits.notification;
  tables_.lives.resize(std::size_t{1} << limits.log_max_qp);
}

void command_core::clear_effects() {
  effects_.lines.clear();  // keeps its memory
  effects_.qp.reset();
  effects_.cq.reset();
  effects_.srq.reset();
  effects_.vports = false;
  effects_.partitions = false;
  effects_.reaction = false;
  effects_.notification = false;
  effects_.teardown.reset();
}

command_result command_core::execute(std::uint16_t function, command_input input,
                                     std::span<std::uint8_t> output) {
  CARILLON_CHECK(output.size() >= cmd_out::Size, "pcie_endpoint: {} bytes of output are too few",
                 output.size());
  caller_ = function;
  clear_effects();
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
      return enable(head);
    case command_opcode::DisableHca:
      return disable(head);
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
      return query_vport(input, output);
    case command_opcode::InitHca:
      return init();
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
      return teardown(head);
    case command_opcode::QueryFunction:
      return query_function(head, output);
    case command_opcode::ModifyFunction:
      return modify_function(input);
    case command_opcode::ModifyNicVportContext:
      return modify_vport(input);
    case command_opcode::QueryVportState:
      return query_vport_state(input, output);
    case command_opcode::ModifyVportState:
      return modify_vport_state(input);
    case command_opcode::QueryVportCounter:
      return query_vport_counter(input, output);
    case command_opcode::QueryRoceAddress:
      return query_roce_address(input, output);
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
    case command_opcode::QueryCongParams:
      return query_congestion(input, output);
    case command_opcode::ModifyCongParams:
      return modify_congestion(input);
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
    case command_opcode::ModifyCq:
      return modify_cq(input);
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
