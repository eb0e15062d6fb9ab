#include "cosim/lockstep.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>

#include "common/error.h"
#include "cosim/rtl_domain.h"

namespace carillon {

namespace {

/// Bits [lsb, lsb + width) in hexadecimal, most significant digit first.
std::string hex(const std::uint32_t* words, unsigned lsb, unsigned width) {
  std::string text = "0x";
  for (unsigned left = width; left != 0;) {
    const unsigned take = (left - 1) % 32 + 1;
    left -= take;
    const auto part = bytes::get_bits(words, lsb + left, take);
    text += fmt::format("{:0{}x}", part, (take + 3) / 4);
  }
  return text;
}

}  // namespace

lockstep::lockstep(rtl_domain& domain, const twin_request& request) : twin_driver(domain, request) {
  for (const port_state& each : ports_) {
    if (each.stream->input()) {
      each.stream->base().wakes_too(*this);
    }
  }
}

lockstep::~lockstep() {
  // A run that ends in an exception has a reason of its own.
  if (!finished_ && !failed_ && std::uncaught_exceptions() == 0) {
    fmt::print(
        stderr,
        "{}: lockstep checker destroyed without finish(): its leftovers were never looked at\n",
        instance_);
    std::abort();
  }
}

void lockstep::transfer(cycle_t t) {
  // A block that is settled has been offered something or is busy; its readies are meaningful.
  for (const port_state& each : ports_) {
    if (!each.stream->input() || !each.stream->offered(t)) {
      continue;
    }
    const bool model = each.stream->base().transferring(t);
    const bool rtl = bit(each.pins.ready);
    if (model != rtl) {
      differ(t, each, "ready", model ? "1" : "0", rtl ? "1" : "0");
    }
  }
}

void lockstep::before_edge(cycle_t t) {
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    const port_state& each = ports_[i];
    const bool moves = each.stream->base().transferring(t);
    if (!each.stream->input()) {
      const bool model = each.stream->offered(t);
      const bool rtl = bit(each.pins.valid);
      if (model != rtl) {
        differ(t, each, "valid", model ? "1" : "0", rtl ? "1" : "0");
      }
      if (moves) {
        compare_data(each, t);
      }
    }
    if (moves) {
      note(t, static_cast<unsigned>(i));
    }
  }
}

void lockstep::compare_data(const port_state& port, cycle_t t) {
  const stream_base& stream = port.stream->base();
  if (stream.taken_in(t)) {
    const cycle_t rtl = port.visible.empty() ? NeverCycle : port.visible.front();
    if (rtl != stream.last_taken_visible()) {
      differ(t, port, "visible", fmt::format("{}", stream.last_taken_visible()),
             fmt::format("{}", rtl));
    }
  }
  std::array<std::uint32_t, MaxBeatWords> model;
  std::array<std::uint32_t, MaxBeatWords> rtl;
  port.stream->pack(t, model.data());
  read(port, rtl.data());
  const auto words = static_cast<std::ptrdiff_t>(port.stream->words());
  if (std::equal(model.begin(), model.begin() + words, rtl.begin())) {
    return;
  }
  std::string all;
  const stream_field_desc* first = nullptr;
  for (const stream_field_desc& field : port.stream->fields()) {
    const std::string a = hex(model.data(), field.lsb, field.width);
    const std::string b = hex(rtl.data(), field.lsb, field.width);
    if (a != b) {
      first = first == nullptr ? &field : first;
      all += fmt::format("\n  {}: model {}, RTL {}", field.name, a, b);
    }
  }
  CARILLON_CHECK(first != nullptr, "{}: {} differs in cycle {}, but in no field", instance_,
                 port.pins.name, t);
  differ(t, port, first->name, hex(model.data(), first->lsb, first->width),
         hex(rtl.data(), first->lsb, first->width), all);
}

void lockstep::after_edge(cycle_t /*t*/) {}

void lockstep::note(cycle_t t, unsigned port) {
  const twin_port& stream = *ports_[port].stream;
  recent_[transfers_++ % History] = {t, port, stream.message(),
                                     static_cast<unsigned>(t - stream.base().last_taken())};
}

void lockstep::differ(cycle_t t, const port_state& port, const std::string& field,
                      const std::string& model, const std::string& rtl, const std::string& more) {
  failed_ = true;
  show_waves(t, 0);
  std::string text = fmt::format(
      "{}: lockstep mismatch in cycle {} at port {}: {} is {} in the model and {} in the RTL",
      instance_, t, port.pins.name, field, model, rtl);
  text += more;
  text += "\n  last transfers:";
  const std::size_t count = std::min(transfers_, History);
  if (count == 0) {
    text += " none";
  }
  for (std::size_t i = transfers_ - count; i < transfers_; ++i) {
    const seen_transfer& each = recent_[i % History];
    text += fmt::format("\n    cycle {}: {} beat {} of message {}", each.cycle,
                        ports_[each.port].pins.name, each.beat, each.message);
  }
  text += fmt::format("\n  seed {}", domain_.context().seed);
  if (!domain_.options().replay.empty()) {
    text += "; to repeat: " + domain_.options().replay;
  }
  throw lockstep_mismatch({stage_, port.pins.name, field, t, model, rtl}, text);
}

void lockstep::finish() {
  finished_ = true;
  const cycle_t t = domain_.context().clock.now();
  for (const port_state& each : ports_) {
    if (each.stream->input()) {
      continue;
    }
    if (bit(each.pins.valid) || !each.visible.empty()) {
      differ(t, each, "valid", "0, at the end of the run", "1");
    }
  }
  if (block_->busy()) {
    differ(t, ports_.front(), "busy_o", "0, at the end of the run", "1");
  }
  read_content(content_words::all, [this, t](std::span<const std::uint32_t> query,
                                             std::span<const std::uint32_t> model,
                                             std::span<const std::uint32_t> rtl) {
    if (std::equal(model.begin(), model.end(), rtl.begin(), rtl.end())) {
      return;
    }
    for (const stream_field_desc& field : content()->word_fields()) {
      const std::string a = hex(model.data(), field.lsb, field.width);
      const std::string b = hex(rtl.data(), field.lsb, field.width);
      if (a != b) {
        failed_ = true;
        throw lockstep_mismatch(
            {stage_, "content", field.name, t, a, b},
            fmt::format("{}: lockstep mismatch in cycle {} at port content: {} is {} in the model "
                        "and {} in the RTL\n  of word {:#x}, when the run had ended\n  seed {}{}",
                        instance_, t, field.name, a, b, query.front(), domain_.context().seed,
                        domain_.options().replay.empty()
                            ? std::string{}
                            : "; to repeat: " + domain_.options().replay));
      }
    }
  });
}

}  // namespace carillon
