#include "tb/common/peer_bench.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <utility>

#include "common/due_process.h"
#include "common/run.h"

namespace carillon::bench {

namespace {

constexpr std::uint64_t OwnMac = 0x020000000001;
constexpr std::uint32_t OwnAddress = 0x0a000001;
constexpr std::uint32_t PeerAddress = 0x0a000002;
constexpr std::uint64_t PsPerNs = 1000;
constexpr std::uint32_t FrameOffset = 128;
constexpr unsigned LogCqSize = 8;

nic_options adapter_options() {
  nic_options result;
  result.mac = OwnMac;
  return result;
}

}  // namespace

bytes_t pattern(std::size_t length, unsigned seed) {
  bytes_t bytes(length);
  for (std::size_t i = 0; i < length; ++i) {
    bytes[i] = static_cast<std::uint8_t>((i * 7 + seed * 131 + (i >> 8) * 29) ^ (i >> 3));
  }
  return bytes;
}

peer_bench::peer_bench(const parameters& params, std::uint64_t shuffle)
    : context(params, 1, shuffle),
      host("host0", context, tlps, 1),
      own_("wire0", context),
      far_("wire1", context),
      nic_side_(*this),
      adapter(context, "nic0", tlps, *this, adapter_options()),
      slot(host),
      driver(host, slot, 0, adapter.shared().posted, gid_of_ipv4(OwnAddress)) {
  host.slot_port().connect(adapter.pcie());
  own_.listen(nic_side_);
  far_.listen(*this);
  own_.connect(far_);
}

peer_bench::~peer_bench() {
  context.trace.close();
}

void peer_bench::run(const program& what) {
  bool finished = false;
  host.core(0).run(what(*this, host.core(0)), [&finished] { finished = true; });
  run_simulation();
  EXPECT_TRUE(finished) << "the program waits for something that never comes";
  context.check_drained();
}

task<> peer_bench::connect(cpu& core, options wanted) {
  co_await driver.open(core);
  pd = co_await driver.alloc_pd(core);
  uar = co_await driver.alloc_uar(core);
  send_cq = co_await completion_queue::create(driver, core, *uar, LogCqSize);
  receive_cq = co_await completion_queue::create(driver, core, *uar, LogCqSize);
  buffer = co_await driver.register_memory(core, pd, host.allocate(wanted.buffer_bytes, 4096),
                                           wanted.buffer_bytes, wanted.rights);
  qp = co_await queue_pair::create(driver, core, pd, *uar, *send_cq, *receive_cq, wanted.qp);
  connection_options connection = wanted.connection;
  connection.remote_atomic = connection.remote_atomic || wanted.rights.remote_atomic;
  connection.psn = connection.psn.value_or(OwnPsn);
  co_await qp->to_init(core, connection);
  queue_pair_address peer;
  peer.qpn = PeerQpn;
  peer.psn = PeerPsn;
  peer.mac = PeerMac;
  peer.address = gid_of_ipv4(PeerAddress);
  co_await qp->to_rtr(core, peer, connection);
  co_await qp->to_rts(core, connection);
}

task<> peer_bench::wait_ns(cpu& core, std::uint64_t ns) {
  core.idle_until(core.time() + ns * PsPerNs);
  co_await core.sync();
}

task<> peer_bench::send_completions(cpu& core, std::size_t count) {
  for (std::size_t i = 0; i < count;) {
    completion one;
    i += co_await send_cq->wait(core, std::span(&one, 1));
    sends.push_back(one);
  }
}

task<> peer_bench::receive_completions(cpu& core, std::size_t count) {
  for (std::size_t i = 0; i < count;) {
    completion one;
    i += co_await receive_cq->wait(core, std::span(&one, 1));
    receives.push_back(one);
  }
}

work_request peer_bench::request(wqe_opcode opcode, std::uint32_t length, std::uint64_t offset) {
  work_request result;
  result.id = 100 + offset;
  result.opcode = opcode;
  result.remote_address = 0x70000;
  result.rkey = 0x4242;
  if (length != 0) {
    result.add({buffer.address + offset, length, buffer.key});
  }
  return result;
}

task<> peer_bench::post(cpu& core, const work_request& what) {
  EXPECT_TRUE(co_await qp->post_send(core, what));
}

task<> peer_bench::post_receive(cpu& core, std::uint32_t length, std::uint64_t offset) {
  receive_request what;
  what.id = offset;
  if (length != 0) {
    what.add({buffer.address + offset, length, buffer.key});
  }
  EXPECT_TRUE(co_await qp->post_receive(core, what));
}

void peer_bench::put(std::uint64_t offset, const bytes_t& bytes) {
  host.memory.write(buffer.address + offset, bytes.data(), bytes.size());
}

bytes_t peer_bench::get(std::uint64_t offset, std::size_t length) const {
  bytes_t bytes(length);
  host.memory.read(buffer.address + offset, bytes.data(), length);
  return bytes;
}

packet_description peer_bench::packet(bth_opcode opcode, std::uint32_t psn) const {
  packet_description result;
  result.mac_destination = OwnMac;
  result.mac_source = PeerMac;
  result.source = gid_of_ipv4(PeerAddress);
  result.destination = gid_of_ipv4(OwnAddress);
  result.opcode = opcode;
  result.dest_qpn = qp->qpn();
  result.psn = psn & 0xffffff;
  result.ack_request = 1;
  return result;
}

packet_description peer_bench::acknowledge(std::uint32_t psn, std::uint8_t syndrome,
                                           std::uint32_t msn) const {
  packet_description result = packet(bth_opcode::RcAcknowledge, psn);
  result.ack_request = 0;
  result.acknowledge = make_aeth(syndrome, msn);
  return result;
}

packet_description peer_bench::remote(bth_opcode opcode, std::uint32_t psn, std::uint32_t length,
                                      std::uint64_t offset) const {
  packet_description result = packet(opcode, psn);
  result.remote.va = buffer.address + offset;
  result.remote.rkey = buffer.key;
  result.remote.dma_length = length;
  result.atomic.va = buffer.address + offset;
  result.atomic.rkey = buffer.key;
  return result;
}

bytes_t peer_bench::frame_of(packet_description what, const bytes_t& payload) const {
  what.payload = static_cast<std::uint32_t>(payload.size());
  bytes_t room(FrameOffset + payload.size() + MinFrameBytes + 16);
  const header_place headers = build_headers(what, room.data(), FrameOffset);
  std::copy(payload.begin(), payload.end(), room.begin() + FrameOffset);
  const finished_frame done = finish_frame(room.data(), headers, what.payload);
  return {room.begin() + done.offset, room.begin() + done.offset + done.length};
}

void peer_bench::send(const packet_description& what, const bytes_t& payload,
                      std::uint64_t delay_ns) {
  send_frame(frame_of(what, payload), delay_ns);
}

void peer_bench::send_frame(bytes_t frame, std::uint64_t delay_ns) {
  frame_item item;
  item.bytes = frames_.take();
  item.length = static_cast<std::uint32_t>(frame.size());
  std::copy(frame.begin(), frame.end(), item.bytes.data());
  item.fcs = fcs_of_frame(frame.data(), frame.size());
  const ps_t from = std::max(now(), answering_);
  far_.send(std::move(item), from + delay_ns * PsPerNs);
}

void peer_bench::acknowledges_everything() {
  answer = [this](const seen_packet& got) {
    if (got.parsed.base.ack_req != 0) {
      send(acknowledge(got.psn(), 0x1f, ++msn_));
    }
  };
}

std::uint64_t peer_bench::count(counter which) const {
  return adapter.counters().value(which);
}

ps_t peer_bench::now() const {
  return now_ps();
}

void peer_bench::on_frame(frame_item&& frame, ps_t /*first_bit*/, ps_t last_bit) {
  seen_packet got;
  const std::uint8_t* begin = frame.bytes.data() + frame.offset;
  got.frame.assign(begin, begin + frame.length);
  got.parsed = parse_frame(got.frame.data(), got.frame.size());
  got.arrived = last_bit;
  EXPECT_TRUE(got.parsed.good()) << to_string(got.parsed.error);
  EXPECT_EQ(frame.fcs, fcs_of_frame(got.frame.data(), got.frame.size()));
  packets.push_back(got);
  if (answer) {
    answering_ = last_bit;
    answer(got);
    answering_ = 0;
  }
}

void peer_bench::nic_side::on_frame(frame_item&& frame, ps_t first_bit, ps_t last_bit) {
  owner_.adapter.on_frame(std::move(frame), first_bit, last_bit);
}

}  // namespace carillon::bench
