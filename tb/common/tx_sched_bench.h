// The bench of tx_sched: sources for everything that comes in, sinks for everything that goes out.
#pragma once

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <vector>

#include "gen/contexts.h"
#include "gen/wqe.h"
#include "stage_bench.h"
#include "tx_sched.h"

namespace carillon::bench {

inline constexpr std::uint32_t Qp = 0x21;
inline constexpr std::uint32_t OtherQp = 0x22;

// Codes typed from the formats: path MTU 128 << code, mlx5 opcodes, byte 11 of the control segment.
inline constexpr std::uint8_t Mtu1024 = 3;
inline constexpr std::uint8_t Mtu4096 = 5;
inline constexpr std::uint8_t OpcodeWrite = 0x08;
inline constexpr std::uint8_t Signaled = 0x08;
inline constexpr std::uint8_t Solicited = 0x02;

/// In place of payload_dma: takes packets and says `delay` cycles later that they have left.
class payload_stub : public stage {
 public:
  payload_stub(stage_bench& bench, stream<packet_item>& in, stream<payload_left>& left,
               unsigned delay, cycle_t period)
      : stage("payload_stub", bench.context, "bench"),
        in_(in),
        left_(left),
        delay_(delay),
        period_(period) {
    in_.to(*this, site());
    left_.from(*this, site());
    watch(in_, {blocker::condition("bench", [](cycle_t) { return true; })});
  }

  std::vector<sink<packet_item>::taken> items;

 private:
  void evaluate(cycle_t t) override {
    if (!in_.takeable(t)) {
      return;
    }
    if (t % period_ != 0 || !left_.has_credit(t)) {
      wake(t + 1);
      return;
    }
    const cycle_t visible = in_.front_visible();
    items.push_back({t, visible, in_.take(t)});
    left_.push(t, delay_, {{}, items.back().item.qpn});
  }

  stream<packet_item>& in_;
  stream<payload_left>& left_;
  unsigned delay_;
  cycle_t period_;
};

class tx_sched_bench : public testing::TestWithParam<int> {
 protected:
  /// One function, or those of the table.
  explicit tx_sched_bench(
      const parameters& params = {},
      vport_table table = vport_table(std::vector<vport>(1, vport{.enabled = true})),
      bool rated = false)
      : bench(static_cast<std::uint64_t>(GetParam()), params),
        vports(bench.context.clock, "vports", std::move(table)),
        paused(bench.context.clock, "paused", 0),
        crowded(bench.context.clock, "crowded", 0),
        ports{bench.port<work_item>("work", 48, 16),
              bench.port<response_item>("acknowledges"),
              bench.port<payload_left>("left", 64),
              bench.port<qp_command>("commands"),
              bench.port<send_control>("controls"),
              bench.port<packet_item>("payload"),
              bench.port<packet_item>("direct"),
              bench.port<sent_packet>("sent"),
              bench.port<refetch>("refetches"),
              bench.port<key_invalidation>("invalidations", 8),
              bench.port<response_failure>("failures", 8),
              bench.port<response_left>("answered", 8),
              vports,
              rated ? &bench.port<rate_limit>("limits") : nullptr,
              rated ? &bench.port<rate_charge>("charges") : nullptr,
              &paused,
              &crowded},
        dut("tx_sched", bench.nic, ports),
        works("works", bench, ports.work),
        acknowledges("acknowledges", bench, ports.acknowledges),
        commands("commands", bench, ports.commands),
        controls("controls", bench, ports.controls),
        sent("sent", bench, ports.sent),
        refetches("refetches", bench, ports.refetches),
        invalidations("invalidations", bench, ports.invalidations),
        failures("failures", bench, ports.failures),
        answered("answered", bench, ports.answered) {}

  /// Sinks that take at once; `left` in the given cycles.
  void plain_sinks(cycle_t payload_period = 1) {
    payload = std::make_unique<sink<packet_item>>("payload", bench, ports.payload, payload_period);
    direct = std::make_unique<sink<packet_item>>("direct", bench, ports.direct);
    left = std::make_unique<source<payload_left>>("left", bench, ports.left);
  }

  work_item fetched(std::uint32_t qpn, std::uint32_t length, std::uint8_t mtu = Mtu4096) {
    work_item work;
    work.qpn = qpn;
    work.wqe_index = next_index[qpn]++;
    work.wqebbs = 1;
    work.opcode = OpcodeWrite;
    work.fm_ce_se = Signaled;
    work.mtu_code = mtu;
    work.length = length;
    work.sge_count = length != 0 ? 1 : 0;
    work.remote_address = 0x1000;
    work.rkey = 0x77;
    work.send_cqn = 9;
    work.body = bench.nic.buffers.take();
    return work;
  }

  work_item in_line(std::uint32_t qpn, std::uint32_t length) {
    work_item work = fetched(qpn, length);
    work.is_inline = true;
    work.sge_count = 0;
    return work;
  }

  work_item failed(std::uint32_t qpn, std::uint8_t syndrome) {
    work_item work = fetched(qpn, 64);
    work.syndrome = syndrome;
    work.fm_ce_se = 0;
    return work;
  }

  work_item of_kind(wqe_opcode opcode, std::uint32_t length, std::uint8_t mtu = Mtu1024) {
    work_item work = fetched(Qp, length, mtu);
    work.opcode = static_cast<std::uint8_t>(opcode);
    return work;
  }

  /// With that fence mode, in bits 7:5 of the byte.
  static work_item fenced(work_item work, unsigned mode) {
    work.fm_ce_se = static_cast<std::uint8_t>(work.fm_ce_se | mode << 5);
    return work;
  }

  static qp_command command(std::uint32_t qpn, qp_state state, std::uint32_t psn = 0,
                            unsigned log_reads = 0, qp_service service = qp_service::Rc) {
    qp_command item;
    item.qpn = qpn;
    item.state = static_cast<std::uint8_t>(state);
    item.service = static_cast<std::uint8_t>(service);
    item.send_psn = psn;
    qpc_requester line;
    line.log_sra_max = static_cast<std::uint8_t>(log_reads);
    line.pack(item.requester.data());
    return item;
  }

  static send_control control(send_control_kind kind, std::uint8_t epoch = 0) {
    send_control item;
    item.kind = kind;
    item.qpn = Qp;
    item.epoch = epoch;
    return item;
  }

  static send_control progress(std::uint32_t psn, std::uint8_t reads_done = 0) {
    send_control item = control(send_control_kind::progress);
    item.psn = psn;
    item.reads_done = reads_done;
    return item;
  }

  static send_control restart(std::uint8_t epoch, std::uint32_t psn, std::uint32_t skip,
                              std::uint16_t index) {
    send_control item = control(send_control_kind::restart, epoch);
    item.psn = psn;
    item.skip = skip;
    item.wqe_index = index;
    return item;
  }

  /// The same WQE once more.
  static work_item again(work_item work, std::uint8_t epoch) {
    work.epoch = epoch;
    return work;
  }

  static payload_left left_with(std::uint32_t psn, dma_status status, bool response = false) {
    payload_left item;
    item.qpn = Qp;
    item.psn = psn;
    item.status = status;
    item.response = response;
    return item;
  }

  /// How many work requests were told to the end.
  [[nodiscard]] std::size_t told() const {
    return static_cast<std::size_t>(std::count_if(sent.items.begin(), sent.items.end(),
                                                  [](const auto& each) { return each.item.last; }));
  }

  static response_item acknowledge(std::uint32_t psn, std::uint32_t qpn = OtherQp) {
    response_item item;
    item.qpn = qpn;
    item.psn = psn;
    item.syndrome = 0x1f;
    item.msn = psn + 1;
    return item;
  }

  void finish() { bench.context.check_drained(); }

  stage_bench bench;
  level<vport_table> vports;
  level<std::uint8_t> paused;
  level<std::uint8_t> crowded;
  tx_sched::ports ports;
  tx_sched dut;
  source<work_item> works;
  source<response_item> acknowledges;
  source<qp_command> commands;
  source<send_control> controls;
  sink<sent_packet> sent;
  sink<refetch> refetches;
  sink<key_invalidation> invalidations;
  sink<response_failure> failures;
  sink<response_left> answered;
  std::unique_ptr<sink<packet_item>> payload;
  std::unique_ptr<sink<packet_item>> direct;
  std::unique_ptr<source<payload_left>> left;
  std::map<std::uint32_t, std::uint16_t> next_index;
};

}  // namespace carillon::bench
