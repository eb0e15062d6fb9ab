// The commands about event queues, completion queues and shared receive queues.
#include <algorithm>

#include "gen/bytes.h"
#include "gen/wqe.h"
#include "pcie_endpoint/commands.h"

namespace carillon {

namespace {

constexpr std::uint64_t EqeBytes = eqe::Size;
constexpr std::uint64_t CqeBytes = cqe64::Size;
constexpr std::uint64_t RecordAlignment = 8;
constexpr std::size_t EventWordBytes = 8;
/// An SRQ's WQE has its next segment and at least one data segment: strides of 32 bytes and more.
constexpr std::uint8_t MinLogSrqStride = 1;

bool is_arm_state(queue_arm_state state) {
  switch (state) {
    case queue_arm_state::Idle:
    case queue_arm_state::Armed:
    case queue_arm_state::Fired:
    case queue_arm_state::AlwaysArmed:
      return true;
  }
  return false;
}

}  // namespace

// Event queues

command_result command_core::create_eq(command_input input, std::uint8_t* output) {
  if (input.size() < create_eq_in::Size) {
    return fail(command_status::BadInputLength, command_syndrome::InputLength);
  }
  const create_eq_in in = create_eq_in::unpack(input.data());
  const eqc& wanted = in.eq_context_entry;
  if (!mine().uar_pages.contains(wanted.uar_page)) {
    return fail(command_status::BadResource, command_syndrome::NoUar);
  }
  if (wanted.log_eq_size > limits_.log_max_eq_size) {
    return fail(command_status::LimitExceeded, command_syndrome::QueueSize);
  }
  if (wanted.intr >= limits_.msix_vectors) {
    return fail(command_status::BadIndex, command_syndrome::Vector);
  }
  // It is armed by its doorbell, not here. All types of event are in the first word.
  const bool more_types = std::any_of(in.event_bitmask.begin() + EventWordBytes,
                                      in.event_bitmask.end(), [](auto each) { return each != 0; });
  if (wanted.ec != 0 || wanted.st != queue_arm_state::Idle || more_types) {
    return fail(command_status::BadParameter, command_syndrome::Option);
  }
  command_result why;
  const auto base = contiguous_base(
      input, {EqeBytes << wanted.log_eq_size, wanted.log_page_size, wanted.page_offset}, why);
  if (!base) {
    return why;
  }
  const std::uint32_t eqn = mine().numbers[table_kind::eqs].take();
  if (eqn == 0) {
    return full();
  }
  eq_record& eq = tables_.eqs[eqn];
  eq.function = caller_;
  eq.context = wanted;
  eq.event_bitmask = bytes::load_be<EventWordBytes>(in.event_bitmask.data());
  eqc_line line;
  line.valid = 1;
  line.oi = wanted.oi;
  line.log_eq_size = wanted.log_eq_size;
  line.function_id = caller_;
  line.uar_page = wanted.uar_page;
  line.intr = wanted.intr;
  line.base_addr = *base;
  line.event_bitmask = eq.event_bitmask;
  write_line(context_kind::eqc, eqn, line);
  tell_completion(eqn, line);
  return created(eqn, output);
}

command_result command_core::destroy_eq(std::uint32_t number) {
  const eq_record* eq = owned(tables_.eqs, number);
  if (eq == nullptr) {
    return fail(command_status::BadResource, command_syndrome::NoEq);
  }
  if (eq->users != 0) {
    return busy();
  }
  write_line(context_kind::eqc, number, eqc_line{});
  tell_completion(number, eqc_line{});
  tables_.eqs.erase(number);
  mine().numbers[table_kind::eqs].give_back(number);
  return done();
}

command_result command_core::query_eq(std::uint32_t number, std::uint8_t* output) {
  const eq_record* eq = owned(tables_.eqs, number);
  if (eq == nullptr) {
    return fail(command_status::BadResource, command_syndrome::NoEq);
  }
  query_eq_out answer;
  answer.eq_context_entry = eq->context;
  answer.event_bitmask = eq->event_bitmask;
  answer.pack(output);
  return {.output_bytes = query_eq_out::Size};
}

void command_core::tell_completion(std::uint32_t number, const eqc_line& line) {
  cq_command& told = effects_.cq.emplace();
  told.cqn = number;
  told.eq = true;
  line.pack(told.line.data());
}

// Completion queues

command_result command_core::create_cq(command_input input, std::uint8_t* output) {
  if (input.size() < create_cq_in::Size) {
    return fail(command_status::BadInputLength, command_syndrome::InputLength);
  }
  const create_cq_in in = create_cq_in::unpack(input.data());
  const cqc& wanted = in.cq_context;
  if (!mine().uar_pages.contains(wanted.uar_page)) {
    return fail(command_status::BadResource, command_syndrome::NoUar);
  }
  // A CQ without an EQ (number 0) is polled only.
  const std::uint32_t eqn = wanted.c_eqn_or_apu_element;
  eq_record* eq = owned(tables_.eqs, eqn);
  if (eqn != 0 && eq == nullptr) {
    return fail(command_status::BadResource, command_syndrome::NoEq);
  }
  if (wanted.log_cq_size > limits_.log_max_cq_size) {
    return fail(command_status::LimitExceeded, command_syndrome::QueueSize);
  }
  if (wanted.cq_period_mode != 0) {
    return fail(command_status::BadParameter, command_syndrome::Moderation);
  }
  if (wanted.cqe_sz > 1 || wanted.cqe_comp_en != 0 || wanted.apu_cq != 0 || wanted.cc != 0 ||
      wanted.dbr_umem_valid != 0 || in.cq_umem_valid != 0 || !is_arm_state(wanted.st)) {
    return fail(command_status::BadParameter, command_syndrome::Option);
  }
  if (wanted.dbr_addr % RecordAlignment != 0) {
    return fail(command_status::BadParameter, command_syndrome::QueueLayout);
  }
  command_result why;
  const std::uint64_t bytes = CqeBytes << (wanted.log_cq_size + wanted.cqe_sz);
  const auto base = contiguous_base(input, {bytes, wanted.log_page_size, wanted.page_offset}, why);
  if (!base) {
    return why;
  }
  const std::uint32_t cqn = mine().numbers[table_kind::cqs].take();
  if (cqn == 0) {
    return full();
  }
  if (eq != nullptr) {
    ++eq->users;
  }
  cq_record& cq = tables_.cqs[cqn];
  cq.function = caller_;
  cq.context = wanted;
  cqc_line& line = cq.line;
  line.valid = 1;
  line.arm_state = wanted.st;
  line.oi = wanted.oi;
  line.log_cq_size = wanted.log_cq_size;
  line.cqe128 = wanted.cqe_sz;
  line.function_id = caller_;
  line.eqn = static_cast<std::uint8_t>(eqn);
  line.uar_page = wanted.uar_page;
  line.base_addr = *base;
  line.dbr_addr = wanted.dbr_addr;
  line.period = wanted.cq_period;
  line.max_count = wanted.cq_max_count;
  write_line(context_kind::cqc, cqn, line);
  tell_completion(cqn, line);
  return created(cqn, output);
}

command_result command_core::destroy_cq(std::uint32_t number) {
  const cq_record* cq = owned(tables_.cqs, number);
  if (cq == nullptr) {
    return fail(command_status::BadResource, command_syndrome::NoCq);
  }
  if (cq->users != 0) {
    return busy();
  }
  if (cq->context.c_eqn_or_apu_element != 0) {
    --tables_.eqs.at(cq->context.c_eqn_or_apu_element).users;
  }
  write_line(context_kind::cqc, number, cqc_line{});
  tell_completion(number, cqc_line{});
  tables_.cqs.erase(number);
  mine().numbers[table_kind::cqs].give_back(number);
  return done();
}

/// Moderation alone, of a CQ that goes on: completion keeps its counters.
command_result command_core::modify_cq(command_input input) {
  if (input.size() < modify_cq_in::Size) {
    return too_short();
  }
  const modify_cq_in in = modify_cq_in::unpack(input.data());
  cq_record* cq = owned(tables_.cqs, in.cqn);
  if (cq == nullptr) {
    return fail(command_status::BadResource, command_syndrome::NoCq);
  }
  constexpr std::uint32_t Moderation = CqSelectPeriod | CqSelectCount | CqSelectPeriodMode;
  if (in.op_mod != 0 || (in.field_select & ~Moderation) != 0) {
    return fail(command_status::BadParameter, command_syndrome::Option);
  }
  if ((in.field_select & CqSelectPeriodMode) != 0 && in.cq_context.cq_period_mode != 0) {
    return fail(command_status::BadParameter, command_syndrome::Moderation);
  }
  if ((in.field_select & CqSelectPeriod) != 0) {
    cq->context.cq_period = in.cq_context.cq_period;
    cq->line.period = in.cq_context.cq_period;
  }
  if ((in.field_select & CqSelectCount) != 0) {
    cq->context.cq_max_count = in.cq_context.cq_max_count;
    cq->line.max_count = in.cq_context.cq_max_count;
  }
  write_line(context_kind::cqc, in.cqn, cq->line);
  tell_completion(in.cqn, cq->line);
  effects_.cq->modify = true;
  return done();
}

command_result command_core::query_cq(std::uint32_t number, std::uint8_t* output) {
  const cq_record* cq = owned(tables_.cqs, number);
  if (cq == nullptr) {
    return fail(command_status::BadResource, command_syndrome::NoCq);
  }
  query_cq_out answer;
  answer.cq_context = cq->context;
  answer.pack(output);
  return {.output_bytes = query_cq_out::Size};
}

void command_core::tell_completion(std::uint32_t number, const cqc_line& line) {
  cq_command& told = effects_.cq.emplace();
  told.cqn = number;
  line.pack(told.line.data());
}

// Shared receive queues

command_result command_core::create_srq(command_input input, std::uint8_t* output) {
  if (input.size() < create_srq_in::Size) {
    return fail(command_status::BadInputLength, command_syndrome::InputLength);
  }
  const srqc wanted = create_srq_in::unpack(input.data()).srq_context_entry;
  pd_record* pd = owned(tables_.pds, wanted.pd);
  if (pd == nullptr) {
    return fail(command_status::BadResource, command_syndrome::NoPd);
  }
  if (wanted.log_srq_size > limits_.log_max_srq_size) {
    return fail(command_status::LimitExceeded, command_syndrome::QueueSize);
  }
  // The driver fills in xrcd and cqn whether or not the queue is for XRC.
  if (wanted.cont_srq != 0) {
    return fail(command_status::BadParameter, command_syndrome::Option);
  }
  if (wanted.lwm >> wanted.log_srq_size != 0) {
    return fail(command_status::BadParameter, command_syndrome::Watermark);
  }
  if (wanted.log_rq_stride < MinLogSrqStride || wanted.dbr_addr % RecordAlignment != 0) {
    return fail(command_status::BadParameter, command_syndrome::QueueLayout);
  }
  command_result why;
  const std::uint64_t bytes = std::uint64_t{1}
                              << (wanted.log_srq_size + wanted.log_rq_stride + LogRqStrideBase);
  const auto base = contiguous_base(input, {bytes, wanted.log_page_size, wanted.page_offset}, why);
  if (!base) {
    return why;
  }
  const std::uint32_t srqn = mine().numbers[table_kind::srqs].take();
  if (srqn == 0) {
    return full();
  }
  ++pd->users;
  srq_record& srq = tables_.srqs[srqn];
  srq.function = caller_;
  srq.context = wanted;
  srq_line& line = srq.line;
  line.valid = 1;
  line.wq_signature = wanted.wq_signature;
  line.log_size = wanted.log_srq_size;
  line.log_stride = wanted.log_rq_stride;
  line.function_id = caller_;
  line.pd = wanted.pd;
  line.lwm = wanted.lwm;
  line.base_addr = *base;
  line.dbr_addr = wanted.dbr_addr;
  write_line(context_kind::srq, srqn, line);
  tell_responder(srqn, line);
  return created(srqn, output);
}

command_result command_core::destroy_srq(std::uint32_t number) {
  const srq_record* srq = owned(tables_.srqs, number);
  if (srq == nullptr) {
    return fail(command_status::BadResource, command_syndrome::NoSrq);
  }
  if (srq->users != 0) {
    return busy();
  }
  --tables_.pds.at(srq->context.pd).users;
  write_line(context_kind::srq, number, srq_line{});
  tell_responder(number, srq_line{});
  tables_.srqs.erase(number);
  mine().numbers[table_kind::srqs].give_back(number);
  return done();
}

command_result command_core::query_srq(std::uint32_t number, std::uint8_t* output) {
  const srq_record* srq = owned(tables_.srqs, number);
  if (srq == nullptr) {
    return fail(command_status::BadResource, command_syndrome::NoSrq);
  }
  query_srq_out answer;
  answer.srq_context_entry = srq->context;
  answer.pack(output);
  return {.output_bytes = query_srq_out::Size};
}

/// The limit is armed anew: the responder gets the line of an SRQ that it knows.
command_result command_core::arm_rq(command_input input) {
  const arm_rq_in in = arm_rq_in::unpack(input.data());
  if (in.op_mod != ArmRqSrq) {
    return fail(command_status::BadParameter, command_syndrome::Option);
  }
  srq_record* srq = owned(tables_.srqs, in.srq_number);
  if (srq == nullptr) {
    return fail(command_status::BadResource, command_syndrome::NoSrq);
  }
  if (in.lwm >> srq->context.log_srq_size != 0) {
    return fail(command_status::BadParameter, command_syndrome::Watermark);
  }
  srq->context.lwm = in.lwm;
  srq->line.lwm = in.lwm;
  write_line(context_kind::srq, in.srq_number, srq->line);
  tell_responder(in.srq_number, srq->line);
  return done();
}

void command_core::tell_responder(std::uint32_t number, const srq_line& line) {
  srq_command& told = effects_.srq.emplace();
  told.srqn = number;
  line.pack(told.line.data());
}

}  // namespace carillon
