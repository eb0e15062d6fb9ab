// One host with its NIC, and at the other end of the cable a peer that does as the test says: it
// sends any packet, keeps what it gets, and answers by a script.
//
// A case runs one program on the host's core. connect() brings device and queue pair up; then
// post(), receives and the peer's packets follow in the program's order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/frame_sink.h"
#include "common/roce_packet.h"
#include "fabric/wire_link.h"
#include "host/machine.h"
#include "host/verbs.h"
#include "nic.h"

namespace carillon::bench {

using bytes_t = std::vector<std::uint8_t>;

/// `length` bytes that differ from each other and by `seed`.
bytes_t pattern(std::size_t length, unsigned seed = 1);

/// The peer's numbers.
inline constexpr std::uint32_t PeerQpn = 0x00abcd;
inline constexpr std::uint32_t PeerPsn = 0x001000;  ///< of its first request
inline constexpr std::uint32_t OwnPsn = 0x000200;   ///< of the NIC's first request
inline constexpr std::uint64_t PeerMac = 0x0200000000fe;

struct seen_packet {
  parsed_frame parsed;
  bytes_t frame;
  ps_t arrived = 0;  ///< its last bit

  [[nodiscard]] bth_opcode opcode() const { return parsed.base.opcode; }

  [[nodiscard]] std::uint32_t psn() const { return parsed.base.psn; }

  [[nodiscard]] bytes_t payload() const {
    const auto at = frame.begin() + parsed.payload_offset;
    return {at, at + parsed.payload};
  }

  [[nodiscard]] std::uint8_t syndrome() const { return syndrome_of(parsed.acknowledge); }
};

class peer_bench : private frame_sink, private wire_listener {
 public:
  struct options {
    queue_pair_options qp;
    connection_options connection;
    std::uint64_t buffer_bytes = 65536;
    memory_access_rights rights{true, true, true, true, true};
  };

  explicit peer_bench(const parameters& params = {}, std::uint64_t shuffle = 0);
  ~peer_bench() override;

  // Program -------------------------------------------------------------------------------------

  using program = std::function<task<>(peer_bench&, cpu&)>;

  /// Runs the program and everything that follows from it; then all streams must be empty.
  void run(const program& what);

  task<> connect(cpu& core) { return connect(core, options{}); }

  task<> connect(cpu& core, options wanted);

  /// Lets simulated time pass.
  task<> wait_ns(cpu& core, std::uint64_t ns);

  /// Polls until `count` more send (receive) completions came; they are appended to `sends`
  /// (`receives`).
  task<> send_completions(cpu& core, std::size_t count = 1);
  task<> receive_completions(cpu& core, std::size_t count = 1);

  /// A request whose data (or whose answer's place) is `length` bytes at `offset` of the buffer.
  [[nodiscard]] work_request request(wqe_opcode opcode, std::uint32_t length,
                                     std::uint64_t offset = 0);
  task<> post(cpu& core, const work_request& what);
  task<> post_receive(cpu& core, std::uint32_t length, std::uint64_t offset = 0x8000);

  void put(std::uint64_t offset, const bytes_t& bytes);
  [[nodiscard]] bytes_t get(std::uint64_t offset, std::size_t length) const;

  // Peer ----------------------------------------------------------------------------------------

  /// A packet to the NIC's queue pair, as its connected peer would send it.
  [[nodiscard]] packet_description packet(bth_opcode opcode, std::uint32_t psn) const;
  [[nodiscard]] packet_description acknowledge(std::uint32_t psn, std::uint8_t syndrome = 0x1f,
                                               std::uint32_t msn = 0) const;
  /// An RDMA request for `length` bytes at `offset` of the buffer.
  [[nodiscard]] packet_description remote(bth_opcode opcode, std::uint32_t psn,
                                          std::uint32_t length, std::uint64_t offset = 0) const;

  /// Sends it `delay_ns` from now; in a script's answer, from the packet's arrival.
  void send(const packet_description& what, const bytes_t& payload = {},
            std::uint64_t delay_ns = 0);
  /// The same with the finished frame changed (and its FCS made right again).
  void send_frame(bytes_t frame, std::uint64_t delay_ns = 0);
  [[nodiscard]] bytes_t frame_of(packet_description what, const bytes_t& payload) const;

  /// Called for each packet of the NIC.
  std::function<void(const seen_packet&)> answer;

  /// The usual answer: an ACK for whoever asks for one.
  void acknowledges_everything();

  std::vector<seen_packet> packets;
  std::vector<completion> sends;
  std::vector<completion> receives;
  memory_region buffer;

  [[nodiscard]] std::uint64_t count(counter which) const;

  [[nodiscard]] ps_t now() const;

 private:
  [[nodiscard]] ps_t free_at() const override { return own_.free_at(); }

  void send(frame_item frame, ps_t first_bit) override { own_.send(std::move(frame), first_bit); }

  void on_frame(frame_item&& frame, ps_t first_bit, ps_t last_bit) override;

  /// Frames that go to the NIC.
  class nic_side final : public wire_listener {
   public:
    explicit nic_side(peer_bench& owner) : owner_(owner) {}

    void on_frame(frame_item&& frame, ps_t first_bit, ps_t last_bit) override;

   private:
    peer_bench& owner_;
  };

 public:
  sim_context context;
  tlp_pool tlps;
  machine host;

 private:
  wire_port own_;
  wire_port far_;
  nic_side nic_side_;

 public:
  nic adapter;
  pci_bus slot;
  device driver;
  std::uint32_t pd = 0;
  uar_handle* uar = nullptr;
  std::unique_ptr<completion_queue> send_cq;
  std::unique_ptr<completion_queue> receive_cq;
  std::unique_ptr<queue_pair> qp;

 private:
  buffer_pool frames_;
  ps_t answering_ = 0;  ///< the arrival that the script answers, or 0
  std::uint32_t msn_ = 0;
};

}  // namespace carillon::bench
