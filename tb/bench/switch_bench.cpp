// How many frames a second one switch simulates: eight ports send to a ninth, at 100 Gb/s.
//
// Paced: each sends an eighth of the line rate, so that the queue stays short. Incast: each sends
// as fast as it may, so that PFC decides. Callbacks are those of the switch alone, those of the
// senders left out; allocations are counted once everything has been warmed up.
#include <algorithm>
#include <array>
#include <benchmark/benchmark.h>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <systemc>

#include "common/pfc_frame.h"
#include "common/ring.h"
#include "common/roce_packet.h"
#include "common/run.h"
#include "fabric/topology.h"

namespace {

std::uint64_t allocations = 0;

}  // namespace

// Inlined, the compiler would take them for a pair that does not match.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes)) {
    return memory;
  }
  throw std::bad_alloc();
}

[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}

[[gnu::noinline]] void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
  std::free(memory);
}

namespace carillon {
namespace {

constexpr unsigned Senders = 8;
constexpr unsigned Receiver = Senders;
constexpr std::uint8_t Lossless = 24;

std::uint64_t address(unsigned n) {
  return 0x0200'0000'0000 + n;
}

/// Headers in front of whatever the buffer holds: nobody here looks at a payload.
class sender final : public wire_listener, private timed {
 public:
  sender(sim_context& context, buffer_pool& pool, const std::string& name, unsigned number)
      : timed(context.line), wire(name.c_str(), context), context_(context), pool_(pool) {
    packet_description packet;
    packet.mac_destination = address(Receiver);
    packet.mac_source = address(number);
    packet.dscp = Lossless;
    packet.ecn = ecn_code::Ect0;
    packet.opcode = bth_opcode::RcSendMiddle;
    const header_place place = build_headers(packet, headers_.data(), PayloadOffset);
    offset_ = place.offset;
    wire.listen(*this);
  }

  void start(std::uint32_t payload, std::uint64_t frames, ps_t period, ps_t when) {
    length_ = PayloadOffset - offset_ + payload + IcrcBytes;
    period_ = period;
    left_ = frames;
    context_.line.at(when, *this, Send);
  }

  void on_frame(frame_item&& frame, ps_t /*first_bit*/, ps_t last_bit) override {
    if (const auto request = parse_pfc(frame.bytes.data() + frame.offset, frame.length)) {
      requests_.push(*request);
      context_.line.at(last_bit, *this, Obey);
      return;
    }
    ++received;
  }

  wire_port wire;
  std::uint64_t received = 0;
  std::uint64_t callbacks = 0;

 private:
  enum task : std::uint64_t { Send, Obey };

  void on_time(ps_t now, std::uint64_t what) override {
    ++callbacks;
    if (what == Obey) {
      const pfc request = requests_.pop();
      paused_ = request.quanta[Lossless >> 3] != 0;
      if (!paused_ && waits_) {
        waits_ = false;
        context_.line.at(std::max(now, wire.free_at()), *this, Send);
      }
      return;
    }
    if (left_ == 0) {
      return;
    }
    if (paused_) {
      waits_ = true;
      return;
    }
    frame_item frame;
    frame.bytes = pool_.take();
    frame.offset = offset_;
    frame.length = length_;
    frame.fcs_known = true;
    std::memcpy(frame.bytes.data() + offset_, headers_.data() + offset_, PayloadOffset - offset_);
    wire.send(std::move(frame), now);
    if (--left_ != 0) {
      context_.line.at(std::max(now + period_, wire.free_at()), *this, Send);
    }
  }

  sim_context& context_;
  buffer_pool& pool_;
  std::array<std::uint8_t, PayloadOffset> headers_{};
  std::uint32_t offset_ = 0;
  std::uint32_t length_ = 0;
  ps_t period_ = 0;
  std::uint64_t left_ = 0;
  bool paused_ = false;
  bool waits_ = false;
  ring<pfc> requests_;
};

parameters at_100_gbps() {
  parameters result;
  result.wire.rate_gbps = 100;
  return result;
}

struct world {
  sim_context context{at_100_gbps(), 1, 0};
  buffer_pool pool;
  topology net = topology::star(context, "switch", settings());
  std::vector<std::unique_ptr<sender>> hosts;

  static switch_settings settings() {
    switch_settings result = switch_settings::of_ports(Senders + 1);
    result.buffer_bytes = 2'000'000;
    return result;
  }

  world() {
    for (unsigned i = 0; i <= Senders; ++i) {
      hosts.push_back(std::make_unique<sender>(context, pool, "host" + std::to_string(i), i));
      hosts.back()->wire.connect(net.host_port(i));
      net.add_address(i, address(i));
    }
    run_simulation();  // elaborates
  }

  [[nodiscard]] std::uint64_t callbacks() const {
    std::uint64_t sum = context.line.callbacks();
    for (const auto& each : hosts) {
      sum -= each->callbacks;
    }
    return sum;
  }

  void round(std::uint32_t payload, bool paced) {
    constexpr std::uint64_t Frames = 5000;
    const ps_t slot = hosts[0]->wire.speed().time_of(wire_bytes(payload + 58));
    for (unsigned i = 0; i < Senders; ++i) {
      hosts[i]->start(payload, Frames, paced ? slot * Senders : 0, now_ps() + i * slot);
    }
    due_process::run_directly();
  }
};

world* all = nullptr;

void eight_to_one(benchmark::State& state) {
  const auto payload = static_cast<std::uint32_t>(state.range(0));
  const bool paced = state.range(1) != 0;
  all->round(payload, paced);
  const std::uint64_t callbacks = all->callbacks();
  const std::uint64_t received = all->hosts[Receiver]->received;
  const std::uint64_t allocated = allocations;
  for (auto _ : state) {
    all->round(payload, paced);
  }
  const std::uint64_t allocated_since = allocations - allocated;
  const auto frames = static_cast<double>(all->hosts[Receiver]->received - received);
  state.counters["frames/s"] = benchmark::Counter(frames, benchmark::Counter::kIsRate);
  state.counters["callbacks"] = static_cast<double>(all->callbacks() - callbacks) / frames;
  state.counters["allocations"] = static_cast<double>(allocated_since);
}

BENCHMARK(eight_to_one)
    ->ArgNames({"payload", "paced"})
    ->ArgsProduct({{1024, 4096}, {1, 0}})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace carillon

int sc_main(int argc, char** argv) {
  carillon::all = new carillon::world();  // SystemC tears modules down at exit
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

int main(int argc, char** argv) {
  setenv("SC_COPYRIGHT_MESSAGE", "DISABLE", 1);
  return sc_core::sc_elab_and_sim(argc, argv);
}
