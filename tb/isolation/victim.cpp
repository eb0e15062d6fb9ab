#include "tb/isolation/victim.h"

#include <fmt/format.h>
#include <utility>

#include "tb/isolation/state.h"

namespace carillon::isolation {

namespace {

constexpr std::uint64_t Half = 2048;
constexpr std::uint32_t MostBytes = 1500;  ///< two packets
constexpr std::uint64_t CounterAt = 4088;
constexpr unsigned MostUnheard = 1000;
constexpr ps_t Pause = 12'000'000;  ///< between two messages

connection_options options() {
  connection_options all;
  all.mtu = mtu_code::Mtu1024;
  all.remote_atomic = true;
  return all;
}

}  // namespace

victim_traffic::victim_traffic(tenant_house& house, std::uint64_t seed)
    : house_(house), random_(seed, "isolation/victim") {}

task<> victim_traffic::serve(cpu& core) {
  device& driver = house_.away().driver;
  co_await driver.open(core);
  const std::uint32_t pd = co_await driver.alloc_pd(core);
  uar_handle* uar = co_await driver.alloc_uar(core);
  peer_ = co_await driver.register_memory(core, pd, house_.away().host.allocate(BufferBytes, 4096),
                                          BufferBytes, {true, true, true, true, true});
  peer_cq_ = co_await completion_queue::create(driver, core, *uar, 6);
  far_ = co_await queue_pair::create(driver, core, pd, *uar, *peer_cq_, *peer_cq_, {});
  co_await core.meet(created_);
  co_await far_->to_init(core, options());
  co_await far_->to_rtr(core, out_->address(), options());
  co_await far_->to_rts(core, options());
  co_await core.meet(connected_);
}

task<> victim_traffic::connect(cpu& core) {
  tenant& own = house_.of(Victim);
  device& driver = *own.driver;
  own_ =
      co_await driver.register_memory(core, own.pd, house_.home().host.allocate(BufferBytes, 4096),
                                      BufferBytes, {true, true, true, true, true});
  cq_ = co_await completion_queue::create(driver, core, *own.uar, 6);
  out_ = co_await queue_pair::create(driver, core, own.pd, *own.uar, *cq_, *cq_, {});
  talker_ = co_await queue_pair::create(driver, core, own.pd, *own.uar, *cq_, *cq_, {});
  listener_ = co_await queue_pair::create(driver, core, own.pd, *own.uar, *cq_, *cq_, {});
  co_await core.meet(created_);
  co_await out_->to_init(core, options());
  co_await out_->to_rtr(core, far_->address(), options());
  co_await out_->to_rts(core, options());
  co_await core.meet(connected_);
  co_await tenant_house::connect(core, *talker_, *listener_);
}

task<> victim_traffic::run(cpu& core, rendezvous& open, rendezvous& ready) {
  co_await core.meet(open);
  co_await connect(core);
  co_await core.meet(ready);
  while (!stopped_ && ++unheard_ < MostUnheard) {
    co_await one_message(core);
    core.idle_until(core.time() + Pause);
    co_await core.sync();
  }
}

std::vector<std::uint32_t> victim_traffic::qpns() const {
  return {out_->qpn(), talker_->qpn(), listener_->qpn()};
}

task<> victim_traffic::one_message(cpu& core) {
  switch (random_.below(3)) {
    case 0:
      co_await write_and_read(core);
      break;
    case 1:
      co_await add(core);
      break;
    default:
      co_await message(core);
      break;
  }
  ++messages_;
}

void victim_traffic::fill(std::uint64_t address, std::uint32_t length) {
  filled_.resize(length);
  for (std::uint8_t& each : filled_) {
    each = static_cast<std::uint8_t>(random_.next());
  }
  house_.home().host.memory.write(address, filled_.data(), length);
}

/// Takes one completion of a send, or of a receive of so many bytes.
task<> victim_traffic::finish(cpu& core, std::uint32_t bytes, queue_pair& of) {
  completion done;
  co_await cq_->wait(core, std::span(&done, 1));
  if (done.failed() || done.qpn != of.qpn() || (!done.requester() && done.bytes != bytes)) {
    fail(fmt::format("a completion of QP {} with syndrome {} and {} bytes instead of QP {} and {}",
                     done.qpn, static_cast<unsigned>(done.syndrome), done.bytes, of.qpn(), bytes));
  }
}

task<> victim_traffic::write_and_read(cpu& core) {
  const auto length = static_cast<std::uint32_t>(random_.between(1, MostBytes));
  const std::uint64_t place = random_.below(Half - MostBytes);
  fill(own_.address, length);
  const std::vector<std::uint8_t> sent = filled_;
  work_request request;
  request.remote_address = peer_.address + place;
  request.rkey = peer_.key;
  request.add({own_.address, length, own_.key});
  co_await out_->post_send(core, request);
  co_await finish(core, length, *out_);
  std::vector<std::uint8_t> there(length);
  house_.away().host.memory.read(peer_.address + place, there.data(), length);
  compare("a WRITE", there, sent);
  work_request back;
  back.opcode = wqe_opcode::RdmaRead;
  back.remote_address = peer_.address + place;
  back.rkey = peer_.key;
  back.add({own_.address + Half, length, own_.key});
  co_await out_->post_send(core, back);
  co_await finish(core, length, *out_);
  std::vector<std::uint8_t> came(length);
  house_.home().host.memory.read(own_.address + Half, came.data(), length);
  compare("a READ", came, sent);
}

task<> victim_traffic::add(cpu& core) {
  work_request request;
  request.opcode = wqe_opcode::AtomicFetchAdd;
  request.remote_address = peer_.address + CounterAt;
  request.rkey = peer_.key;
  request.swap_or_add = random_.below(1000);
  request.add({own_.address + Half, 8, own_.key});
  co_await out_->post_send(core, request);
  co_await finish(core, 8, *out_);
  std::array<std::uint8_t, 8> raw{};
  house_.home().host.memory.read(own_.address + Half, raw.data(), raw.size());
  std::uint64_t before = 0;
  std::memcpy(&before, raw.data(), raw.size());
  if (before != counter_) {
    fail(fmt::format("an atomic found {} instead of {}", before, counter_));
  }
  counter_ += request.swap_or_add;
}

task<> victim_traffic::message(cpu& core) {
  const auto length = static_cast<std::uint32_t>(random_.between(1, MostBytes));
  fill(own_.address, length);
  const std::vector<std::uint8_t> sent = filled_;
  receive_request room;
  room.add({own_.address + Half, MostBytes, own_.key});
  co_await listener_->post_receive(core, room);
  work_request request;
  request.opcode = wqe_opcode::Send;
  request.add({own_.address, length, own_.key});
  co_await talker_->post_send(core, request);
  co_await finish(core, length, *listener_);
  co_await finish(core, length, *talker_);
  std::vector<std::uint8_t> came(length);
  house_.home().host.memory.read(own_.address + Half, came.data(), length);
  compare("a SEND", came, sent);
}

void victim_traffic::compare(const char* what, const std::vector<std::uint8_t>& is,
                             const std::vector<std::uint8_t>& should) {
  for (const std::uint8_t each : is) {
    digest_ = (digest_ ^ each) * 0x100000001b3ULL;
  }
  if (is != should) {
    fail(fmt::format("the data of {} of {} bytes, message {}", what, should.size(), messages_));
  }
}

void victim_traffic::fail(std::string what) {
  if (wrong_.empty()) {
    wrong_ = std::move(what);
  }
}

}  // namespace carillon::isolation
