// The driver against a device that only listens: every command succeeds and is kept, every object
// gets the number that the test wants, and what reaches the UAR is kept. Completions and events are
// written into the queues by the test itself, byte by byte.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gen/bytes.h"
#include "host/driver.h"
#include "host/verbs.h"
#include "tb/common/pcie_side.h"

namespace carillon::bench {

using byte_list = std::vector<std::uint8_t>;

/// Registers as a driver needs them; commands take no time.
class listening_registers final : public stage {
 public:
  listening_registers(const char* name, nic_shared& nic, stream<mmio_write>& writes,
                      stream<mmio_read>& reads, stream<mmio_answer>& answers)
      : stage(name, nic.context, "bench"),
        writes_(writes),
        reads_(reads),
        answers_(answers),
        image_(bar0::Size) {
    writes_.to(*this, site());
    reads_.to(*this, site());
    answers_.from(*this, site());
    watch(writes_, {});
    watch(reads_, {blocker::credit(answers_)});
    bytes::store_be<4>(&image_[bar0::DeviceId], bar0::DeviceIdReset);
    hca_cap cap;
    cap.log_max_qp_size = 15;
    cap.log_max_cq_size = 20;
    cap.log_max_eq_size = 16;
    cap.log_max_srq_size = 15;
    cap.max_wqe_sz_sq = 1024;
    cap.num_gids = 16;
    cap.pack(&image_[bar0::HcaCap]);
    bytes::store_be<4>(&image_[bar0::CmdStatus], bar0::cmd_status_value{.done = 1}.pack());
  }

  std::vector<byte_list> commands;
  std::uint32_t number = 0x21;  ///< of the next object
  byte_list output;             ///< of the next command, behind its head

 private:
  void evaluate(cycle_t t) override {
    if (writes_.takeable(t)) {
      write(writes_.take(t));
    }
    if (!reads_.takeable(t)) {
      return;
    }
    if (!answers_.has_credit(t)) {
      answers_.ask_credit(t);
      return;
    }
    const mmio_read access = reads_.take(t);
    mmio_answer out;
    out.trace = access.trace;
    out.requester = access.requester;
    out.tag = access.tag;
    out.length = access.length;
    out.lower_address = static_cast<std::uint8_t>(access.offset & 0x7f);
    std::copy_n(image_.begin() + static_cast<std::ptrdiff_t>(access.offset), access.length,
                out.data.begin());
    answers_.push(t, 1, out);
  }

  void write(const mmio_write& access) {
    if (access.offset != bar0::CmdDoorbell) {
      std::copy_n(access.data.begin(), access.length,
                  image_.begin() + static_cast<std::ptrdiff_t>(access.offset));
      return;
    }
    const std::uint64_t length = bytes::load_be<4>(access.data.data());
    const auto input = image_.begin() + bar0::CmdIn;
    commands.emplace_back(input, input + static_cast<std::ptrdiff_t>(length));
    cmd_out{.number = number}.pack(&image_[bar0::CmdOut]);
    std::copy(output.begin(), output.end(), image_.begin() + bar0::CmdOut + cmd_out::Size);
  }

  stream<mmio_write>& writes_;
  stream<mmio_read>& reads_;
  stream<mmio_answer>& answers_;
  byte_list image_;
};

struct scripted_device : pcie_side {
  scripted_device(sim_context& context, tlp_pool& tlps, unsigned cores)
      : pcie_side(context, tlps, "0", cores),
        registers("registers", shared, register_writes, register_reads, answers),
        uar("uar_drain", context, uar_writes),
        quiet("quiet", context, cqes),
        config_drain("config_drain", context, configs),
        request_error_drain("request_error_drain", context, request_errors),
        completion_error_drain("completion_error_drain", context, completion_errors),
        driver(host, slot, 0, shared.posted, gid_of_ipv4(0x0a000001)) {}

  listening_registers registers;
  drain<mmio_write> uar;
  silent<dma_write> quiet;
  drain<config_request> config_drain;
  drain<pcie_error> request_error_drain;
  drain<pcie_error> completion_error_drain;
  device driver;
};

/// A host with an opened device, a PD, a UAR page and two CQs; the test's program runs on core 0.
class scripted : public testing::Test {
 protected:
  static constexpr std::uint32_t SendCqn = 0x41;
  static constexpr std::uint32_t ReceiveCqn = 0x42;
  static constexpr std::uint32_t Pd = 0x31;
  static constexpr std::uint32_t Uar = 5;

  void build(unsigned log_cq_size = 4, unsigned cores = 2) {
    log_cq_size_ = log_cq_size;
    context = std::make_unique<sim_context>(parameters{}, 7, 0);
    home = std::make_unique<scripted_device>(*context, tlps, cores);
  }

  template <class Traffic>
  void run(Traffic traffic) {
    core().run(program(traffic));
    sc_core::sc_start();
    ASSERT_FALSE(core().busy()) << "the program waits for ever";
    context->check_drained();
  }

  template <class Traffic>
  task<> program(Traffic traffic) {
    device& dev = home->driver;
    co_await dev.open(core());
    home->registers.number = Pd;
    pd = co_await dev.alloc_pd(core());
    home->registers.number = Uar;
    page = co_await dev.alloc_uar(core());
    home->registers.number = SendCqn;
    send_cq = co_await completion_queue::create(dev, core(), *page, log_cq_size_);
    home->registers.number = ReceiveCqn;
    receive_cq = co_await completion_queue::create(dev, core(), *page, log_cq_size_);
    home->registers.commands.clear();
    co_await traffic(core());
  }

  /// The next QP has that number.
  task<std::unique_ptr<queue_pair>> make_qp(std::uint32_t qpn, queue_pair_options options) {
    home->registers.number = qpn;
    co_return co_await queue_pair::create(home->driver, core(), pd, *page, *send_cq, *receive_cq,
                                          options);
  }

  [[nodiscard]] cpu& core(unsigned index = 0) { return home->host.core(index); }

  [[nodiscard]] host_memory& memory() { return home->host.memory; }

  /// Input of the command that came `back` before the last one.
  [[nodiscard]] const byte_list& command(std::size_t back = 0) const {
    const auto& all = home->registers.commands;
    return all.at(all.size() - 1 - back);
  }

  [[nodiscard]] const std::vector<mmio_write>& rung() const { return home->uar.items; }

  /// Writes an entry (big-endian dwords at byte offsets) as the device does: the last byte last.
  void write_entry(std::uint64_t address,
                   const std::vector<std::pair<std::size_t, std::uint32_t>>& dwords,
                   std::uint8_t last_byte) {
    std::array<std::uint8_t, 64> raw{};
    for (const auto& [at, value] : dwords) {
      bytes::store_be<4>(raw.data() + at, value);
    }
    raw[63] = last_byte;
    memory().write(address, raw.data(), raw.size());
  }

  /// A CQE in slot `slot`: at 0x38 {opcode, QPN}, at 0x3c the WQE counter, at 0x3f kind and owner.
  void write_cqe(const completion_queue& cq, std::uint32_t slot, unsigned kind, std::uint32_t qpn,
                 std::uint16_t wqe_counter,
                 std::vector<std::pair<std::size_t, std::uint32_t>> more = {}, unsigned owner = 0) {
    more.emplace_back(0x3c, std::uint32_t{wqe_counter} << 16);
    const bool has_opcode =
        std::any_of(more.begin(), more.end(), [](const auto& each) { return each.first == 0x38; });
    if (!has_opcode) {
      more.emplace_back(0x38, qpn);
    }
    write_entry(cq.buffer() + std::uint64_t{slot} * 64, more,
                static_cast<std::uint8_t>(kind << 4 | owner));
  }

  tlp_pool tlps;
  std::unique_ptr<sim_context> context;
  std::unique_ptr<scripted_device> home;
  std::uint32_t pd = 0;
  uar_handle* page = nullptr;
  std::unique_ptr<completion_queue> send_cq;
  std::unique_ptr<completion_queue> receive_cq;

 private:
  unsigned log_cq_size_ = 4;
};

/// `count` bytes of an input from `at` on.
inline byte_list part(const byte_list& from, std::size_t at, std::size_t count) {
  const auto begin = from.begin() + static_cast<std::ptrdiff_t>(at);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace carillon::bench
