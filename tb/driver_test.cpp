// The driver against a device made of the real host-side stages (pcie_rx, dma_engine, qpc_ram,
// pcie_endpoint) and a stand-in for what lies behind the UAR: it records what is rung and, if
// asked, answers with CQEs.
#include "host/driver.h"

#include <gtest/gtest.h>

#include "common/roce_packet.h"
#include "dma_engine.h"
#include "gen/bytes.h"
#include "host/session.h"
#include "pcie_endpoint.h"
#include "pcie_rx.h"
#include "qpc_ram.h"
#include "tb/common/stage_bench.h"

namespace carillon {
namespace {

constexpr std::uint64_t FirstMac = 0x020000000001;

/// Takes UAR writes. With `complete`, each doorbell for a QP is answered by a CQE of the WQE that
/// it names.
class fake_uar final : public stage {
 public:
  fake_uar(const char* name, nic_shared& nic, stream<mmio_write>& in, stream<dma_write>& out,
           qpc_ram& ram)
      : stage(name, nic.context, "uar"), nic_(nic), in_(in), out_(out), ram_(ram) {
    in_.to(*this, site());
    out_.from(*this, site());
    watch(in_, {blocker::credit(out_)});
  }

  /// Writes a CQE into the CQ of the QP's send or receive queue.
  void write_cqe(cycle_t t, std::uint32_t qpn, bool receive, cqe64 entry, trace_ref trace) {
    const auto common = qpc_common::unpack(ram_.debug_read(context_kind::qpc_common, qpn).data());
    const std::uint32_t cqn = receive ? common.cq_num_recv : common.cq_num_send;
    const auto cq = cqc_line::unpack(ram_.debug_read(context_kind::cqc, cqn).data());
    const std::uint32_t producer = producers_[cqn]++;
    entry.qpn = qpn;
    entry.owner = (producer >> cq.log_cq_size) & 1;
    dma_write item;
    item.trace = trace;
    item.address = cq.base_addr + (producer & ((1U << cq.log_cq_size) - 1)) * cqe64::Size;
    item.length = cqe64::Size;
    item.from = nic_.buffers.take();
    entry.pack(item.from.data());
    item.point = milestone::cqe_written;
    out_.push(t, 1, item);
  }

  struct write {
    ps_t when;
    mmio_write item;
  };

  bool complete = false;
  cqe_opcode opcode = cqe_opcode::Requester;
  std::uint8_t syndrome = 0;
  std::vector<write> seen;

 private:
  void evaluate(cycle_t t) override {
    if (!in_.takeable(t)) {
      return;
    }
    if (!out_.has_credit(t)) {
      out_.ask_credit(t);
      return;
    }
    const mmio_write item = in_.take(t);
    seen.push_back({time_of(t), item});
    const std::uint64_t offset = item.offset % UarPageBytes;
    if (complete && (offset == uar_page::DbRec || offset == uar_page::BfBuffer)) {
      const doorbell_word rung = doorbell_word::unpack(item.data.data());
      cqe64 entry;
      entry.opcode = opcode;
      entry.wqe_counter = rung.wqe_index;
      entry.byte_cnt = 77;
      entry.timestamp =
          std::uint64_t{syndrome};  // the syndrome of an error CQE is in its last byte but two
      if (syndrome != 0) {
        entry.timestamp = 0x9300 | syndrome;
      }
      write_cqe(t, rung.qpn, false, entry, item.trace);
    }
  }

  nic_shared& nic_;
  stream<mmio_write>& in_;
  stream<dma_write>& out_;
  qpc_ram& ram_;
  std::map<std::uint32_t, std::uint32_t> producers_;
};

template <class T>
class drain final : public stage {
 public:
  drain(const std::string& name, sim_context& context, stream<T>& in)
      : stage(name.c_str(), context, "bench"), in_(in) {
    in_.to(*this, site());
    watch(in_, {});
  }

  std::vector<T> items;

 private:
  void evaluate(cycle_t t) override {
    if (in_.takeable(t)) {
      items.push_back(in_.take(t));
    }
  }

  stream<T>& in_;
};

template <class T>
class silent final : public stage {
 public:
  silent(const std::string& name, sim_context& context, stream<T>& out)
      : stage(name.c_str(), context, "bench") {
    out.from(*this, site());
  }

 private:
  void evaluate(cycle_t /*t*/) override {}
};

/// A host with the device that it drives.
struct node {
  node(sim_context& context, tlp_pool& tlps, const std::string& suffix, std::uint64_t mac,
       unsigned cores)
      : host(("host" + suffix).c_str(), context, tlps, cores),
        shared(context, "nic" + suffix, tlps),
        port(("port" + suffix).c_str(), context,
             {flow_credits{64, 512}, flow_credits{32, 32}, flow_credits{0, 0}}),
        bars(context.clock, "bars" + suffix, pcie_endpoint::reset_bars(context.params)),
        uar_writes(context, "uar_writes" + suffix, 16),
        uar_reads(context, "uar_reads" + suffix, 4),
        register_writes(context, "register_writes" + suffix, 16),
        register_reads(context, "register_reads" + suffix, 4),
        refusals(context, "refusals" + suffix, 4),
        answers(context, "answers" + suffix, 4),
        completions(context, "completions" + suffix, 72, 66),
        line_reads(context, "line_reads" + suffix, 4),
        lines(context, "lines" + suffix, 4),
        line_writes(context, "line_writes" + suffix, 4),
        owners(context, "owners" + suffix, 4),
        completion_commands(context, "completion_commands" + suffix, 4),
        srq_commands(context, "srq_commands" + suffix, 4),
        cqes(context, "cqes" + suffix, 16),
        receive(("pcie_rx" + suffix).c_str(), shared,
                {port, bars, uar_writes, uar_reads, register_writes, register_reads, completions,
                 refusals, [this] { dma.on_credits(); }}),
        dma(("dma_engine" + suffix).c_str(), shared,
            {port, {}, {{cqes, "completion"}}, {&answers, &refusals}, completions}),
        ram(("qpc_ram" + suffix).c_str(), shared,
            {{{line_reads, lines, "pcie_endpoint"}}, {&line_writes}, {}}),
        endpoint(("pcie_endpoint" + suffix).c_str(), shared,
                 {register_writes,
                  register_reads,
                  answers,
                  line_reads,
                  lines,
                  line_writes,
                  {&owners},
                  completion_commands,
                  srq_commands},
                 mac),
        uar(("uar" + suffix).c_str(), shared, uar_writes, cqes, ram),
        uar_read_drain("uar_read_drain" + suffix, context, uar_reads),
        owner_drain("owner_drain" + suffix, context, owners),
        completion_drain("completion_drain" + suffix, context, completion_commands),
        srq_drain("srq_drain" + suffix, context, srq_commands),
        driver(host, {0x80000000, 0x2000000000, 0}, shared.posted,
               gid_of_ipv4(0x0a000000 | static_cast<std::uint32_t>(mac & 0xff))) {
    host.bus.port.connect(port);
    port.listen(receive);
  }

  template <class Line>
  Line line(context_kind kind, std::uint32_t index) const {
    return Line::unpack(ram.debug_read(kind, index).data());
  }

  std::vector<std::uint8_t> memory(std::uint64_t address, std::size_t bytes) const {
    std::vector<std::uint8_t> result(bytes);
    host.memory.read(address, result.data(), bytes);
    return result;
  }

  machine host;
  nic_shared shared;
  pcie_port port;
  level<bar_map> bars;
  stream<mmio_write> uar_writes;
  stream<mmio_read> uar_reads;
  stream<mmio_write> register_writes;
  stream<mmio_read> register_reads;
  stream<mmio_answer> refusals;
  stream<mmio_answer> answers;
  stream<read_completion> completions;
  stream<context_read> line_reads;
  stream<context_line> lines;
  stream<context_write> line_writes;
  stream<qp_command> owners;
  stream<cq_command> completion_commands;
  stream<srq_command> srq_commands;
  stream<dma_write> cqes;
  pcie_rx receive;
  dma_engine dma;
  qpc_ram ram;
  pcie_endpoint endpoint;
  fake_uar uar;
  drain<mmio_read> uar_read_drain;
  drain<qp_command> owner_drain;
  drain<cq_command> completion_drain;
  drain<srq_command> srq_drain;
  device driver;
};

/// Keeps a copy of every message that is complete.
struct finished_messages final : message_observer {
  void on_message(const message_record& message) override { all.push_back(message); }

  std::vector<message_record> all;
};

class drivers : public testing::Test {
 protected:
  void build(session_options options = {}, unsigned cores = 1, parameters params = {}) {
    params.nic.command_cycles = 50;
    context = std::make_unique<sim_context>(params, 7, 0);
    context->trace.observe(finished);
    first = std::make_unique<node>(*context, tlps, "0", FirstMac, cores);
    second = std::make_unique<node>(*context, tlps, "1", FirstMac + 1, cores);
    connection = std::make_unique<session>(options, first->host.core(0), first->driver,
                                           second->host.core(0), second->driver);
  }

  /// Establishes the session and then runs `traffic` on the first host's core.
  template <class Traffic>
  void run(Traffic traffic) {
    first->host.core(0).run(program(traffic));
    second->host.core(0).run(connection->establish(1));
    sc_core::sc_start();
    ASSERT_FALSE(first->host.core(0).busy()) << "the program waits for ever";
    ASSERT_FALSE(second->host.core(0).busy());
    context->check_drained();
  }

  template <class Traffic>
  task<> program(Traffic traffic) {
    co_await connection->establish(0);
    rung_before = first->uar.seen.size();
    co_await traffic(first->host.core(0), connection->side(0));
  }

  /// A WRITE of `length` bytes of the buffer to the peer's.
  work_request write(std::uint32_t length, std::uint64_t id = 0) {
    work_request request;
    request.id = id;
    request.remote_address = connection->side(1).buffer.address;
    request.rkey = connection->side(1).buffer.key;
    const memory_region& mine = connection->side(0).buffer;
    request.add({mine.address, length, mine.key});
    return request;
  }

  [[nodiscard]] const fake_uar::write& rung(std::size_t index) const {
    return first->uar.seen.at(rung_before + index);
  }

  [[nodiscard]] std::size_t rings() const { return first->uar.seen.size() - rung_before; }

  tlp_pool tlps;
  finished_messages finished;
  std::unique_ptr<sim_context> context;
  std::unique_ptr<node> first;
  std::unique_ptr<node> second;
  std::unique_ptr<session> connection;
  std::size_t rung_before = 0;
};

task<> nothing(cpu& /*core*/, session_side& /*side*/) {
  co_return;
}

// Bringing up

TEST_F(drivers, bring_two_hosts_up_through_registers_alone) {
  build();
  run(nothing);
  EXPECT_EQ(first->driver.mac(), FirstMac);
  EXPECT_EQ(second->driver.mac(), FirstMac + 1);
  EXPECT_EQ(first->driver.capabilities().num_uar_pages, 16U);
  // ENABLE, INIT, SET_ROCE_ADDRESS, PD, UAR, MKEY, two CQs, CREATE_QP, INIT, RTR, RTS.
  EXPECT_EQ(first->shared.counters.value(counter::Commands), 12U);
  EXPECT_EQ(first->shared.counters.value(counter::CommandErrors), 0U);
  EXPECT_EQ(first->shared.counters.value(counter::RegisterDenied), 0U);
  EXPECT_GT(first->host.core(0).time(), 12U * 50'000) << "commands take time";
  EXPECT_EQ(first->owner_drain.items.size(), 4U);
  EXPECT_EQ(first->completion_drain.items.size(), 2U);
}

TEST_F(drivers, connect_qps_to_each_other) {
  build({.qps = 2});
  run(nothing);
  for (unsigned i = 0; i < 2; ++i) {
    const queue_pair& mine = *connection->side(0).qps[i];
    const queue_pair& theirs = *connection->side(1).qps[i];
    const auto common = first->line<qpc_common>(context_kind::qpc_common, mine.qpn());
    EXPECT_EQ(common.state, qp_state::Rts);
    EXPECT_EQ(common.remote_qpn, theirs.qpn());
    EXPECT_EQ(common.wqe_base_addr, mine.send_buffer());
    EXPECT_EQ(common.dbr_addr, mine.doorbell_record());
    const auto sends = first->line<qpc_requester>(context_kind::qpc_requester, mine.qpn());
    const auto receives = second->line<qpc_responder>(context_kind::qpc_responder, theirs.qpn());
    EXPECT_EQ(sends.next_send_psn, receives.next_rcv_psn);
    const auto path = first->line<qpc_address>(context_kind::qpc_address, mine.qpn());
    EXPECT_EQ(path.rmac, FirstMac + 1);
    EXPECT_EQ(path.dst_ip, gid_of_ipv4(0x0a000002));
    EXPECT_EQ(path.udp_sport, udp_source_port(0, mine.qpn(), theirs.qpn()));
  }
  const memory_region& buffer = connection->side(0).buffer;
  const auto key = first->line<mkey_line>(context_kind::mkey, buffer.index());
  EXPECT_EQ(key.start_addr, buffer.address);
  EXPECT_EQ(key.len, buffer.length);
  EXPECT_EQ(key.pd, connection->side(0).pd);
}

TEST_F(drivers, see_the_device_state_by_query) {
  build();
  qpc seen;
  run([&](cpu& core, session_side& side) -> task<> {
    seen = co_await side.qps[0]->query(core);
    co_await side.qps[0]->to_error(core);
  });
  EXPECT_EQ(seen.state, qpc_state::Rts);
  EXPECT_EQ(seen.cqn_snd, connection->side(0).send_cq->cqn());
  EXPECT_EQ(first->line<qpc_common>(context_kind::qpc_common, 2).state, qp_state::Err);
}

TEST_F(drivers, say_which_command_was_refused_and_why) {
  build();
  std::string what;
  run([&](cpu& core, session_side& side) -> task<> {
    try {
      co_await side.adapter.register_memory(core, 99, 0x1000, 0x1000);
    } catch (const command_refused& refused) {
      what = refused.what();
    }
  });
  EXPECT_EQ(what, "the device refused CreateMkey: BadResource (NoPd)");
}

TEST_F(drivers, name_the_place_where_no_device_answers) {
  build();
  device nowhere(first->host, {0x70000000, 0x2000000000, 0}, first->shared.posted, gid_of_ipv4(1));
  std::string what;
  run([&](cpu& core, session_side& /*side*/) -> task<> {
    try {
      co_await nowhere.open(core);
    } catch (const config_error& error) {
      what = error.what();
    }
  });
  EXPECT_EQ(what, "no device of vendor 15b3 answers at BAR0 0x70000000: it reads 0xffffffff");
}

// Sending

TEST_F(drivers, ring_db_rec_with_the_start_of_the_control_segment) {
  build({.qp = {.doorbell = doorbell_mode::doorbell_only}});
  run([&](cpu& core, session_side& side) -> task<> {
    EXPECT_TRUE(co_await side.qps[0]->post_send(core, write(4096)));
  });
  const queue_pair& qp = *connection->side(0).qps[0];
  ASSERT_EQ(rings(), 1U);
  EXPECT_EQ(rung(0).item.length, 8U);
  EXPECT_EQ(rung(0).item.offset, connection->side(0).uar->number * 4096U);
  const auto wqe = first->memory(qp.send_buffer(), 48);
  EXPECT_TRUE(std::equal(wqe.begin(), wqe.begin() + 8, rung(0).item.data.begin()));
  // WRITE is 8; ds 3: control, remote address, one pointer; CE 2 in bits 3:2.
  EXPECT_EQ(bytes::load_be<4>(wqe.data()), 0x00000008U);
  EXPECT_EQ(bytes::load_be<4>(wqe.data() + 4), qp.qpn() << 8 | 3U);
  EXPECT_EQ(bytes::load_be<4>(wqe.data() + 8), 0x00000008U);
  EXPECT_EQ(bytes::load_be<8>(wqe.data() + 16), connection->side(1).buffer.address);
  EXPECT_EQ(bytes::load_be<4>(wqe.data() + 24), connection->side(1).buffer.key);
  EXPECT_EQ(bytes::load_be<4>(wqe.data() + 32), 4096U);
  EXPECT_EQ(bytes::load_be<4>(wqe.data() + 36), connection->side(0).buffer.key);
  EXPECT_EQ(bytes::load_be<8>(wqe.data() + 40), connection->side(0).buffer.address);
  EXPECT_EQ(first->memory(qp.doorbell_record(), 8),
            (std::vector<std::uint8_t>{0, 0, 0, 0, 0, 0, 0, 1}));
}

TEST_F(drivers, push_a_single_small_wqe_by_blueflame) {
  build();
  run([&](cpu& core, session_side& side) -> task<> {
    side.adapter.host().memory.write(side.buffer.address, "carillon", 8);
    work_request request = write(8);
    request.is_inline = true;
    EXPECT_TRUE(co_await side.qps[0]->post_send(core, request));
  });
  ASSERT_EQ(rings(), 1U);
  EXPECT_EQ(rung(0).item.length, 64U);
  EXPECT_EQ(rung(0).item.offset % 4096, 0x800U);
  // Control and remote address are 32 bytes; then 4 bytes of count with the inline flag, and the
  // data.
  EXPECT_EQ(bytes::load_be<4>(rung(0).item.data.data() + 32), 0x80000008U);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(rung(0).item.data.data()) + 36, 8),
            "carillon");
  EXPECT_EQ(rung(0).item.data[7] & 0x3f, 3U);
}

TEST_F(drivers, use_blueflame_for_one_request_of_at_most_256_bytes_only) {
  build({.buffer_bytes = 4096});
  run([&](cpu& core, session_side& side) -> task<> {
    queue_pair& qp = *side.qps[0];
    work_request request = write(220);
    request.is_inline = true;
    EXPECT_TRUE(co_await qp.post_send(core, request));  // 32 + 4 + 220 bytes: four blocks
    request.sges[0].length = 221;
    EXPECT_TRUE(co_await qp.post_send(core, request));  // one more byte: five blocks, a doorbell
    const std::array<work_request, 2> batch = {write(8), write(8)};
    EXPECT_TRUE(co_await qp.post_send(core, batch));
  });
  ASSERT_EQ(rings(), 6U);
  for (std::size_t block = 0; block < 4; ++block) {
    EXPECT_EQ(rung(block).item.offset % 4096, 0x800U + 64 * block);
  }
  EXPECT_EQ(rung(4).item.length, 8U);
  EXPECT_EQ(doorbell_word::unpack(rung(4).item.data.data()).wqe_index, 4U);
  EXPECT_EQ(rung(5).item.length, 8U);
  EXPECT_EQ(doorbell_word::unpack(rung(5).item.data.data()).wqe_index, 10U)
      << "the last of the batch: 4 + 5 + 1";
}

TEST_F(drivers, copy_blueflame_blocks_in_any_order_that_a_test_asks_for) {
  build();
  run([&](cpu& core, session_side& side) -> task<> {
    side.qps[0]->copy_blocks_in({2, 0, 1, 3});
    work_request request = write(120);
    request.is_inline = true;
    EXPECT_TRUE(co_await side.qps[0]->post_send(core, request));  // 156 bytes: three blocks
  });
  ASSERT_EQ(rings(), 3U);
  EXPECT_EQ(rung(0).item.offset % 4096, 0x880U);
  EXPECT_EQ(rung(1).item.offset % 4096, 0x800U);
  EXPECT_EQ(rung(2).item.offset % 4096, 0x840U);
}

TEST_F(drivers, refuse_work_that_has_no_room_and_wrap_at_the_end_of_the_ring) {
  build({.qp = {.log_sq_size = 2, .doorbell = doorbell_mode::doorbell_only}});
  bool full = true;
  run([&](cpu& core, session_side& side) -> task<> {
    first->uar.complete = true;
    queue_pair& qp = *side.qps[0];
    completion done;
    for (int i = 0; i < 3; ++i) {
      co_await qp.post_send(core, write(8));
    }
    work_request longer = write(100);
    longer.is_inline = true;  // 136 bytes: three blocks, where one is left
    full = co_await qp.post_send(core, longer);
    for (int i = 0; i < 3; ++i) {
      co_await side.send_cq->wait(core, std::span(&done, 1));
    }
    EXPECT_EQ(qp.free_wqebbs(), 4U);
    side.adapter.host().memory.fill(side.buffer.address, 0x5a, 100);
    EXPECT_TRUE(co_await qp.post_send(core, longer));  // blocks 3, 0 and 1 of the ring
    co_await side.send_cq->wait(core, std::span(&done, 1));
    EXPECT_EQ(done.wqe_counter, 3U);
  });
  EXPECT_FALSE(full);
  const queue_pair& qp = *connection->side(0).qps[0];
  EXPECT_EQ(first->memory(qp.send_buffer() + 3 * 64 + 36, 28), std::vector<std::uint8_t>(28, 0x5a));
  EXPECT_EQ(first->memory(qp.send_buffer(), 64), std::vector<std::uint8_t>(64, 0x5a));
  EXPECT_EQ(first->memory(qp.send_buffer() + 64, 8), std::vector<std::uint8_t>(8, 0x5a));
}

// Completions

TEST_F(drivers, complete_unsignaled_work_with_the_next_signaled) {
  build({.log_cq_size = 2, .qp = {.doorbell = doorbell_mode::doorbell_only}});
  std::vector<completion> seen;
  run([&](cpu& core, session_side& side) -> task<> {
    first->uar.complete = true;
    queue_pair& qp = *side.qps[0];
    for (std::uint64_t id = 0; id < 12; ++id) {
      std::array<work_request, 2> batch = {write(8, 100 + id), write(8, 200 + id)};
      batch[0].signaled = false;
      co_await qp.post_send(core, batch);
      completion done;
      const unsigned count = co_await side.send_cq->wait(core, std::span(&done, 1));
      EXPECT_EQ(count, 1U);
      seen.push_back(done);
    }
    completion none;
    EXPECT_EQ(co_await side.send_cq->poll(core, std::span(&none, 1)), 0U);
    EXPECT_EQ(qp.free_wqebbs(), 64U);
  });
  // Twelve entries through a ring of four: the owner bit turns three times.
  ASSERT_EQ(seen.size(), 12U);
  for (std::uint64_t id = 0; id < 12; ++id) {
    EXPECT_EQ(seen[id].id, 200 + id);
    EXPECT_EQ(seen[id].wqe_counter, 2 * id + 1);
    EXPECT_EQ(seen[id].bytes, 77U);
    EXPECT_FALSE(seen[id].failed());
  }
  EXPECT_EQ(finished.all.size(), 24U);
}

TEST_F(drivers, report_the_syndrome_of_failed_work) {
  build();
  completion done;
  run([&](cpu& core, session_side& side) -> task<> {
    first->uar.complete = true;
    first->uar.opcode = cqe_opcode::RequesterError;
    first->uar.syndrome = static_cast<std::uint8_t>(cqe_syndrome::LocalProtection);
    co_await side.qps[0]->post_send(core, write(8, 5));
    co_await side.send_cq->wait(core, std::span(&done, 1));
  });
  EXPECT_TRUE(done.failed());
  EXPECT_EQ(done.syndrome, cqe_syndrome::LocalProtection);
  EXPECT_EQ(done.vendor_syndrome, 0x93U);
  EXPECT_EQ(done.id, 5U);
}

TEST_F(drivers, follow_a_message_from_the_post_to_the_poll_without_a_gap) {
  parameters params;
  params.cpu.post_ps = 20'000;
  params.cpu.wqe_build_ps = 10'000;
  params.cpu.dbrec_write_ps = 1'000;
  params.cpu.fence_ps = 25'000;
  params.cpu.mmio_store_ps = 5'000;
  params.cpu.poll_cqe_ps = 15'000;
  build({.qp = {.doorbell = doorbell_mode::doorbell_only}}, 1, params);
  ps_t begin = 0;
  ps_t end = 0;
  run([&](cpu& core, session_side& side) -> task<> {
    first->uar.complete = true;
    begin = core.time();
    co_await side.qps[0]->post_send(core, write(8));
    completion done;
    co_await side.send_cq->wait(core, std::span(&done, 1));
    end = core.time();
  });
  ASSERT_EQ(finished.all.size(), 1U);
  const message_record& message = finished.all[0];
  const std::vector<span> path = message.path(milestone::post, milestone::cqe_seen);
  ASSERT_FALSE(path.empty());
  ps_t sum = 0;
  for (const span& each : path) {
    sum += each.end - each.begin;
  }
  EXPECT_EQ(path.front().begin, begin);
  EXPECT_EQ(sum, message.time_of(milestone::cqe_seen) - begin);
  EXPECT_EQ(message.time_of(milestone::cqe_seen) + 1'000, end) << "then the CQ's record is written";
  // Entry and WQE are one service after the other; record, fence and store follow at once.
  EXPECT_EQ(path[0].end - begin, 20'000U);
  EXPECT_EQ(path[1].end - begin, 30'000U);
  EXPECT_EQ(path[2].end - begin, 31'000U);
  EXPECT_EQ(path[3].end - begin, 56'000U);
  EXPECT_EQ(path[4].end - begin, 61'000U);
  EXPECT_EQ(context->trace.name(path[4].place), "host0.cpu0");
  EXPECT_EQ(context->trace.name(path[5].place), "host0.root_complex");
  EXPECT_TRUE(message.reached(milestone::doorbell));
  EXPECT_TRUE(message.reached(milestone::cqe_written));
  // The poll is on the core's grid of 10 ns, and the CQE taken 15 ns later.
  const span& last = path.back();
  EXPECT_EQ(last.end - last.begin, 15'000U);
}

TEST_F(drivers, tell_the_nic_which_message_a_wqe_is) {
  build();
  trace_ref early;
  run([&](cpu& core, session_side& side) -> task<> {
    const std::array<work_request, 2> batch = {write(8), write(8)};
    co_await side.qps[0]->post_send(core, batch);
    early = first->shared.posted.find(side.qps[0]->qpn(), 0);
    EXPECT_NE(first->shared.posted.find(side.qps[0]->qpn(), 1).message, early.message);
    EXPECT_EQ(first->shared.posted.find(side.qps[0]->qpn(), 2).message, 0U);
    EXPECT_EQ(first->shared.posted.find(99, 0).message, 0U);
  });
  EXPECT_NE(early.message, 0U);
  EXPECT_EQ(rung(0).item.trace.message, early.message + 1) << "the doorbell is the last one's";
}

// Receiving

TEST_F(drivers, post_receives_by_the_record_alone) {
  build({.qp = {.max_receive_sges = 3}});
  run([&](cpu& core, session_side& side) -> task<> {
    receive_request request;
    request.id = 9;
    request.sge_count = 1;
    request.sges[0] = {side.buffer.address, 256, side.buffer.key};
    EXPECT_TRUE(co_await side.qps[0]->post_receive(core, request));
    for (int i = 1; i < 16; ++i) {
      EXPECT_TRUE(co_await side.qps[0]->post_receive(core, request));
    }
    EXPECT_FALSE(co_await side.qps[0]->post_receive(core, request))
        << "16 entries are all there are";
  });
  EXPECT_EQ(rings(), 0U) << "no MMIO";
  const auto common = first->line<qpc_common>(context_kind::qpc_common, 2);
  EXPECT_EQ(common.log_rq_stride, 2U) << "three segments need 64 bytes";
  const auto wqe = first->memory(common.rq_base_addr, 32);
  EXPECT_EQ(bytes::load_be<4>(wqe.data()), 256U);
  EXPECT_EQ(bytes::load_be<4>(wqe.data() + 16), 0U);
  EXPECT_EQ(bytes::load_be<4>(wqe.data() + 20), 0x100U) << "the list ends early";
  EXPECT_EQ(first->memory(common.dbr_addr, 4), (std::vector<std::uint8_t>{0, 0, 0, 16}));
}

// Several cores

TEST_F(drivers, hold_the_lock_of_a_shared_uar_page_across_the_doorbell) {
  build({.qps = 2}, 2);
  rendezvous ready(2);
  const auto post_many = [&](cpu& core, queue_pair& qp) -> task<> {
    co_await core.meet(ready);
    for (int i = 0; i < 4; ++i) {
      work_request request = write(120);
      request.is_inline = true;
      EXPECT_TRUE(co_await qp.post_send(core, request));
    }
  };
  const auto other = [&]() -> task<> {
    co_await post_many(first->host.core(1), *connection->side(0).qps[1]);
  };
  run([&](cpu& core, session_side& side) -> task<> {
    first->host.core(1).run(other());
    co_await post_many(core, *side.qps[0]);
  });
  // Eight WQEs of three blocks, never mixed.
  ASSERT_EQ(rings(), 24U);
  for (std::size_t i = 0; i < 24; ++i) {
    EXPECT_EQ(rung(i).item.offset % 4096, 0x800U + 64 * (i % 3));
  }
  EXPECT_FALSE(connection->side(0).uar->lock.held());
}

// WQEs

TEST(wqes, have_the_size_of_their_segments) {
  work_request request;
  request.opcode = wqe_opcode::Send;
  EXPECT_EQ(wqe_units(request), 1U);
  request.add({0, 8, 1}).add({0, 0, 1}).add({0, 8, 1});
  EXPECT_EQ(wqe_units(request), 3U) << "an empty piece has no segment";
  request.opcode = wqe_opcode::RdmaWriteImmediate;
  EXPECT_EQ(wqe_units(request), 4U);
  request.is_inline = true;
  request.sges[2].length = 4;  // 4 + 12 bytes are one unit
  EXPECT_EQ(wqe_units(request), 3U);
  request.sges[2].length = 5;
  EXPECT_EQ(wqe_units(request), 4U);
  request.sges[2].length = 1024;
  EXPECT_GT(wqe_units(request), MaxWqeUnits);
}

TEST(wqes, carry_immediate_fence_and_solicited) {
  host_memory memory;
  work_request request;
  request.opcode = wqe_opcode::SendImmediate;
  request.imm = 0x11223344;
  request.fence = true;
  request.solicited = true;
  request.signaled = false;
  built_wqe wqe;
  build_wqe(request, 0x123456, 0xfffe, memory, wqe);
  const std::vector<std::uint8_t> expected = {0x00, 0xff, 0xfe, 0x0b, 0x12, 0x34, 0x56, 0x01,
                                              0x00, 0x00, 0x00, 0x82, 0x11, 0x22, 0x33, 0x44};
  EXPECT_EQ(wqe.ds, 1U);
  EXPECT_EQ(std::vector<std::uint8_t>(wqe.bytes.begin(), wqe.bytes.begin() + 16), expected);
}

}  // namespace
}  // namespace carillon
