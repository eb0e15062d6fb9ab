#include "tb/isolation/campaign.h"

#include <exception>
#include <fmt/format.h>
#include <iterator>

namespace carillon::isolation {

namespace {

constexpr std::size_t MostFailures = 40;
constexpr unsigned HomeCore = 0;
constexpr unsigned VictimCore = 1;

}  // namespace

std::string campaign_report::table() const {
  std::string text =
      fmt::format("{:76} {:>10} {:>10}  reported by\n", "bin", "operations", "counted");
  const bin_table& bins = all_bins();
  for (std::size_t i = 0; i < bins.size(); ++i) {
    fmt::format_to(std::back_inserter(text), "{:76} {:10} {:10}  {}\n", bins[i].name(), done[i],
                   counted[i], bins[i].reported);
  }
  fmt::format_to(std::back_inserter(text), "{} bins, {} operations, {} messages of the victim\n",
                 bins.size(), operations, victim_messages);
  return text;
}

campaign::campaign(const campaign_options& options)
    : options_(options),
      random_(options.seed, "isolation/hostile"),
      house_(options.seed, options.shuffle),
      victim_(house_, options.seed) {
  report_.done.resize(all_bins().size());
  report_.counted.resize(all_bins().size());
}

campaign_report campaign::run() {
  house_.home().host.core(HomeCore).run(program(house_.home().host.core(HomeCore)),
                                        [this] { report_.ended = true; });
  bool victim_ended = false;
  house_.home()
      .host.core(VictimCore)
      .run(victim_.run(house_.home().host.core(VictimCore), open_, ready_),
           [&victim_ended] { victim_ended = true; });
  house_.away().host.core(0).run(victim_.serve(house_.away().host.core(0)));
  try {
    house_.system.run();
  } catch (const std::exception& error) {
    // A hole can lead a driver or the model astray: that is found, too.
    ++report_.failed;
    report_.failures.push_back(all_bins()[present_].name() + ": " + error.what());
    for (const unsigned index : {HomeCore, VictimCore}) {
      house_.home().host.core(index).abandon();
    }
    house_.away().host.core(0).abandon();
    return report_;
  }
  report_.ended = report_.ended && victim_ended;
  if (!report_.ended) {
    ++report_.failed;
    report_.failures.push_back("it waits for ever in " + all_bins()[present_].name());
    return report_;
  }
  house_.system.check_drained();
  report_.victim_messages = victim_.messages();
  if (!victim_.wrong().empty()) {
    ++report_.failed;
    report_.failures.push_back("the victim: " + victim_.wrong());
  }
  digest(victim_.digest());
  digest(victim_.messages());
  digest(now_ps());
  house_.system.context.trace.close();
  return report_;
}

/// Each bin as often as it must, the rest by weights, in random order.
std::vector<std::uint16_t> campaign::schedule() {
  const bin_table& bins = all_bins();
  std::vector<std::uint16_t> order;
  std::vector<std::uint16_t> urn;
  for (std::uint16_t bin = 0; bin < bins.size(); ++bin) {
    if (bins[bin].name().find(options_.only) == std::string::npos) {
      continue;
    }
    order.insert(order.end(), options_.least, bin);
    urn.insert(urn.end(), bins[bin].weight, bin);
  }
  while (order.size() < options_.operations && !urn.empty()) {
    order.push_back(urn[random_.below(urn.size())]);
  }
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[random_.below(i)]);
  }
  return order;
}

task<> campaign::program(cpu& core) {
  co_await house_.open(core);
  co_await core.meet(open_);
  co_await core.meet(ready_);
  co_await attack(core);
  co_await everything_still_works(core);
  victim_.stop();
}

/// Errors leave sticky bits in the status registers of their function: those that the suite causes
/// are there before it begins, so that they change nothing.
task<> campaign::settle_first_errors(cpu& core) {
  constexpr std::uint64_t Nowhere = 0x800;
  for (const std::uint16_t function : {Pf, Attacker, Ghost}) {
    co_await core.load(house_.of(function).where.bar0 + Nowhere + 1, 4);
  }
  const std::uint64_t size = house_.of(Ghost).where.bar0 - house_.of(Bystander).where.bar0;
  co_await core.load(house_.of(Ghost).where.bar0 + size, 4);
  co_await settle(core);
}

task<> campaign::attack(cpu& core) {
  co_await settle_first_errors(core);
  if (options_.sabotage) {
    co_await options_.sabotage(core, house_);
    co_await settle(core);
  }
  state_.emplace(house_, victim_.qpns());
  counters_.emplace(house_);
  const std::vector<std::uint16_t> order = schedule();
  for (const std::uint16_t bin : order) {
    co_await one(core, bin);
  }
  for (std::uint16_t function = 0; function < Functions; ++function) {
    digest(state_->hash(function));
  }
}

task<> campaign::one(cpu& core, std::size_t bin) {
  const hostile_bin& what = all_bins()[bin];
  outcome result;
  victim_.hear();
  present_ = bin;
  co_await what.perform({core, house_, random_}, result);
  co_await core.sync();
  ++report_.done[bin];
  ++report_.operations;
  digest(bin);
  digest(result.told);
  for (const count_move& each : result.counted) {
    report_.counted[bin] += each.by;
    digest(std::uint64_t{each.where} << 48 | static_cast<std::uint64_t>(each.which) << 16 |
           each.by);
  }
  if (!result.wrong.empty()) {
    fail(bin, result.wrong);
  }
  std::array<bool, Functions> worked = result.worked;
  worked[Victim] = true;
  if (result.offender < Functions) {
    worked[result.offender] = true;
  }
  if (const auto wrong = counters_->wrong(result.counted, worked)) {
    fail(bin, *wrong);
  }
  if (const auto wrong = state_->changed(result.offender)) {
    fail(bin, *wrong + " has changed");
    state_->accept();
  }
}

/// The bystander, whom nothing has disturbed, and the PF can do all that they could: a message with
/// an event and an interrupt.
task<> campaign::everything_still_works(cpu& core) {
  for (const std::uint16_t function : {Bystander, Pf, Victim}) {
    tenant& who = house_.of(function);
    for (const auto& [from, to] :
         {std::pair{who.rc.get(), who.rc_peer.get()}, std::pair{who.uc.get(), who.uc_peer.get()}}) {
      receive_request room;
      room.add({who.buffer.address + 2048, 64, who.buffer.key});
      co_await to->post_receive(core, room);
      work_request request;
      request.opcode = wqe_opcode::Send;
      request.event = true;
      request.add({who.buffer.address, 64, who.buffer.key});
      co_await from->post_send(core, request);
      for (unsigned i = 0; i < 2; ++i) {
        completion done;
        co_await who.cq->wait(core, std::span(&done, 1));
        if (done.failed()) {
          ++report_.failed;
          report_.failures.push_back(fmt::format("function {} cannot send any more", function));
        }
      }
      event told;
      co_await who.events->wait(core, std::span(&told, 1));
      if (told.kind != event_type::Completion || told.number != who.cq->cqn()) {
        ++report_.failed;
        report_.failures.push_back(fmt::format("function {} gets a strange event", function));
      }
    }
  }
}

void campaign::fail(std::size_t bin, const std::string& what) {
  ++report_.failed;
  if (!failed_.contains(bin) && report_.failures.size() < MostFailures) {
    failed_.insert(bin);
    report_.failures.push_back(
        fmt::format("operation {} ({}): {}", report_.operations, all_bins()[bin].name(), what));
  }
}

}  // namespace carillon::isolation
