#include "uar.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "gen/stages.h"
#include "gen/wqe.h"

namespace carillon {

namespace {

namespace spec = stage_spec::uar;
namespace ram = stage_spec::qpc_ram;

/// From the context line's arrival to the doorbell visible: the rest of the budget behind decode
/// and lookup.
constexpr unsigned CheckCycles = spec::Latency - ram::Latency;

}  // namespace

uar::uar(const sc_core::sc_module_name& name, nic_shared& nic, const ports& connected)
    : stage(name, nic.context, Row), nic_(nic), ports_(connected), rules_(nic, site(), connected) {
  ports_.writes.to(*this, site());
  ports_.reads.to(*this, site());
  ports_.answers.from(*this, site());
  ports_.context_reads.from(*this, site());
  ports_.context_lines.to(*this, site());
  ports_.doorbells.from(*this, site());
  ports_.queue_doorbells.from(*this, site());
  for (auto& [input, blockers] : rules_.waits()) {
    watch(*input, std::move(blockers));
  }
}

void uar::evaluate(cycle_t t) {
  take_line(t);
  rules_.settle(t);
  take_write(t);
  look_up(t);
  answer_read(t);
  if (rules_.next_timeout() != NeverCycle) {
    wake(std::max(rules_.next_timeout(), t + 1));
  }
}

void uar::take_write(cycle_t t) {
  if (!ports_.writes.takeable(t) || rules_.lookups_full(t)) {
    return;
  }
  // What a write is, is known only when it is taken.
  if (!ports_.queue_doorbells.has_credit(t)) {
    ports_.queue_doorbells.ask_credit(t);
    return;
  }
  ports_.writes.take(t);
  if (!ports_.reads.empty()) {
    wake(t + 1);  // this may be what the read waited for
  }
  if (!rules_.queue_bell()) {
    return;
  }
  queue_doorbell bell = *rules_.queue_bell();
  const auto [history, begin] = rules_.departs(ports::QueueDoorbell, t + CheckCycles);
  bell.trace = history;
  ports_.queue_doorbells.push_reserved(begin, CheckCycles, bell);
}

void uar::look_up(cycle_t t) {
  while (const uar_event* const event = rules_.to_look_up()) {
    if (!ports_.context_reads.has_credit(t)) {
      ports_.context_reads.ask_credit(t);
      return;
    }
    if (ports_.context_reads.port_free() > t + ram::Hop) {
      wake(t + 1);
      return;
    }
    context_read request;
    request.kind = context_kind::qpc_common;
    request.index = ctrl_seg::unpack(event->record.data()).qpn;
    request.function = event->page.function;
    const auto [history, begin] = rules_.departs(ports::CtxRead, t + ram::Hop);
    request.trace = history;
    ports_.context_reads.push_reserved(begin, ram::Hop, request);
  }
}

void uar::take_line(cycle_t t) {
  if (!ports_.context_lines.takeable(t)) {
    return;
  }
  if (!ports_.doorbells.has_credit(t)) {
    ports_.doorbells.ask_credit(t);
    return;
  }
  ports_.context_lines.take(t);
  const uar_event* const event = rules_.rung();
  if (event == nullptr) {
    return;
  }
  const ctrl_seg head = ctrl_seg::unpack(event->record.data());
  doorbell item;
  item.function = event->page.function;
  item.qpn = head.qpn;
  item.wqe_index = head.wqe_index;
  item.ds = head.ds;
  item.blueflame = event->blueflame;
  if (event->blueflame) {
    item.wqe = nic_.buffers.take();
    std::memcpy(item.wqe.data(), event->wqe.data(), event->wqe.size());
  }
  // A BlueFlame WQE is seen a cycle early: wqe_fetch hands it on in the budget's last cycle.
  const unsigned latency = event->blueflame ? CheckCycles - 1 : CheckCycles;
  const cycle_t visible = std::max<cycle_t>(t + latency, ports_.doorbells.port_free());
  const auto [history, begin] = rules_.departs(ports::Doorbell, visible);
  item.trace = history;
  ports_.doorbells.push_reserved(begin, static_cast<unsigned>(visible - begin), std::move(item));
}

void uar::answer_read(cycle_t t) {
  if (!ports_.reads.takeable(t) || rules_.earlier_writes_open(t)) {
    return;
  }
  if (!ports_.answers.has_credit(t)) {
    ports_.answers.ask_credit(t);
    return;
  }
  const mmio_read item = ports_.reads.take(t);
  const uar_page_id page{item.function, static_cast<std::uint32_t>(item.offset / UarPageBytes)};
  const auto offset = static_cast<std::uint32_t>(item.offset % UarPageBytes);
  std::uint64_t value = 0;
  // Only DB_REC has something to tell: BF_BUFFER reads as zero, so that nothing leaks between
  // processes.
  if (offset < uar_page::DbRec + 8) {
    value = rules_.doorbell_record(page) << (8 * (offset - uar_page::DbRec));
  }
  mmio_answer answer;
  answer.function = item.function;
  answer.requester = item.requester;
  answer.tag = item.tag;
  answer.length = item.length;
  answer.lower_address = static_cast<std::uint8_t>(item.offset & 0x7f);
  for (std::size_t i = 0; i < answer.data.size(); ++i) {
    answer.data[i] = static_cast<std::uint8_t>(value >> (56 - 8 * i));
  }
  const auto [history, begin] = rules_.departs(ports::Answer, t + spec::Latency);
  answer.trace = history;
  ports_.answers.push_reserved(begin, spec::Latency, answer);
}

}  // namespace carillon
