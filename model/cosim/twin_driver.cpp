#include "cosim/twin_driver.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/error.h"
#include "common/vport.h"
#include "cosim/rtl_domain.h"
#include "gen/bytes.h"

namespace carillon {

namespace {

/// No number of changes that a level has seen.
constexpr std::uint64_t NeverChanges = ~std::uint64_t{0};

}  // namespace

twin_driver::twin_driver(rtl_domain& domain, const twin_request& request)
    : domain_(domain),
      nic_(request.nic),
      stage_(request.stage),
      instance_(request.instance),
      streams_(request.ports),
      tables_(request.levels),
      store_(request.store),
      content_(request.content) {
  const twin_desc* desc = find_twin(stage_);
  if (desc == nullptr) {
    throw config_error(fmt::format("{}: has no RTL twin; choose {}=model", stage_, stage_));
  }
  const auto variant = domain.options().variants.find(stage_);
  block_ = rtl_registry::instance().make(
      stage_, variant == domain.options().variants.end() ? "" : variant->second,
      domain.options().reset_seed);
  const std::span<const rtl_pins> pins = block_->pins().streams;
  const std::size_t bound = request.ports.size();
  CARILLON_CHECK(pins.size() == desc->ports.size() && bound <= pins.size() &&
                     (bound == pins.size() || desc->ports[bound].optional),
                 "{}: {} streams, {} in the port table, {} in the RTL", instance_, bound,
                 desc->ports.size(), pins.size());
  ports_.resize(bound);
  for (std::size_t i = 0; i < bound; ++i) {
    const twin_port_desc& port = desc->ports[i];
    CARILLON_CHECK(std::string_view(port.name) == pins[i].name && port.input == pins[i].input,
                   "{}: port {} is {} in the port table and {} in the RTL", instance_, i, port.name,
                   pins[i].name);
    ports_[i].stream = port.make(*request.ports[i], port.input, nic_.buffers);
    ports_[i].stream->tell(this);
    ports_[i].pins = pins[i];
    CARILLON_CHECK(pins[i].bytes >= std::size_t{ports_[i].stream->words()} * 4 - 3,
                   "{}: port {} has {} bytes of pins for {} words", instance_, port.name,
                   pins[i].bytes, ports_[i].stream->words());
  }
  lookups_ = desc->lookups;
  const std::span<const rtl_lookup> asks = block_->pins().lookups;
  CARILLON_CHECK(lookups_.size() == asks.size(), "{}: {} lookups in the port table, {} in the RTL",
                 instance_, lookups_.size(), asks.size());
  for (std::size_t i = 0; i < asks.size(); ++i) {
    CARILLON_CHECK(std::string_view(lookups_[i].name) == asks[i].name &&
                       lookups_[i].query_words <= MaxBeatWords &&
                       lookups_[i].answer_words <= MaxBeatWords,
                   "{}: lookup {} is {} in the port table and {} in the RTL", instance_, i,
                   lookups_[i].name, asks[i].name);
  }
  levels_ = desc->levels;
  views_ = desc->views;
  CARILLON_CHECK(levels_.size() + views_.size() == block_->pins().levels.size(),
                 "{}: {} levels in the port table, {} in the RTL", instance_,
                 levels_.size() + views_.size(), block_->pins().levels.size());
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    CARILLON_CHECK(std::string_view(levels_[i].name) == block_->pins().levels[i].name,
                   "{}: level {} is {} in the port table and {} in the RTL", instance_, i,
                   levels_[i].name, block_->pins().levels[i].name);
  }
  for (std::size_t i = 0; i < views_.size(); ++i) {
    const rtl_level& view = block_->pins().levels[levels_.size() + i];
    CARILLON_CHECK(std::string_view(views_[i].name) == view.name &&
                       view.bytes <= std::size_t{views_[i].words} * 4 &&
                       views_[i].words <= MaxBeatWords,
                   "{}: view {} is {} in the port table and {} in the RTL", instance_, i,
                   views_[i].name, view.name);
  }
  values_ = desc->values;
  const std::span<const rtl_value> tells = block_->pins().values;
  CARILLON_CHECK(values_.size() == tells.size(), "{}: {} values in the port table, {} in the RTL",
                 instance_, values_.size(), tells.size());
  for (std::size_t i = 0; i < tells.size(); ++i) {
    CARILLON_CHECK(std::string_view(values_[i].name) == tells[i].name &&
                       tells[i].bytes <= std::size_t{values_[i].words} * 4 &&
                       values_[i].words <= MaxBeatWords,
                   "{}: value {} is {} in the port table and {} in the RTL", instance_, i,
                   values_[i].name, tells[i].name);
  }
  changes_.resize(views_.size(), NeverChanges);
  if (tables_.functions != nullptr) {
    tables_.functions->wakes(*this);
  }
  if (tables_.icm_base != nullptr) {
    tables_.icm_base->wakes(*this);
  }
  for (level<std::uint8_t>* each : {tables_.paused, tables_.crowded}) {
    if (each != nullptr) {
      each->wakes(*this);
    }
  }
  if (tables_.vports != nullptr && !views_.empty()) {
    tables_.vports->wakes(*this);
  }
  CARILLON_CHECK((store_ != nullptr) == (block_->pins().store.line != nullptr),
                 "{}: the stage or the RTL knows a store, the other does not", instance_);
  CARILLON_CHECK((content_ != nullptr) == (block_->pins().content.ask != nullptr),
                 "{}: the stage or the RTL can be asked what it remembers, the other cannot",
                 instance_);
  open_waves();
  drive_levels(0);
  drive_views(0);
  block_->reset();
  domain_.join(*this);
}

twin_driver::~twin_driver() {
  domain_.leave(*this);
}

void twin_driver::open_waves() {
  const rtl_options& options = domain_.options();
  if (options.waves.empty()) {
    return;
  }
  const std::string file = fmt::format("{}/{}.fst", options.waves, instance_);
  if (!block_->open_waves(file)) {
    throw config_error(
        fmt::format("{}: cannot write {}: the folder must exist, and the RTL be built with waves "
                    "(-DCARILLON_WAVES=ON; variants have none)",
                    instance_, file));
  }
  waves_ = true;
}

/// The edge that ends cycle t. Waves show what led to it half a period before.
void twin_driver::one_edge(cycle_t t) {
  ++edges_;
  show_waves(t, 0);
  block_->edge();
  show_waves(t, 1);
}

/// Half a period before (`half` 0) or just after (1) the edge that ends cycle t.
void twin_driver::show_waves(cycle_t t, unsigned half) {
  if (!waves_) {
    return;
  }
  const core_clock& clock = domain_.context().clock;
  const ps_t end = clock.time_of(t + 1);
  const rtl_options& options = domain_.options();
  const bool shown = t >= options.waves_from_cycle && t <= options.waves_to_cycle &&
                     end >= options.waves_from && end <= options.waves_to;
  if (shown) {
    block_->dump_waves(half == 0 ? end - clock.period() / 2 : end);
  }
}

void twin_driver::on_cycle(cycle_t t) {
  due_ = std::min(due_, t);
  domain_.request();
}

void twin_driver::on_taken(cycle_t t, twin_port& /*port*/) {
  due_ = std::min(due_, t);
  domain_.request();
}

void twin_driver::read(const port_state& port, std::uint32_t* words) const {
  words[port.stream->words() - 1] = 0;
  std::memcpy(words, port.pins.data,
              std::min(port.pins.bytes, std::size_t{port.stream->words()} * 4));
}

void twin_driver::drive_levels(cycle_t t) const {
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    const std::uint32_t value = levels_[i].value(nic_.context.params, streams_, t);
    const rtl_level& pins = block_->pins().levels[i];
    std::memcpy(pins.data, &value, std::min(pins.bytes, sizeof value));
  }
}

bool twin_driver::drive_views(cycle_t t) {
  bool changed = false;
  for (std::size_t i = 0; i < views_.size(); ++i) {
    const std::uint64_t changes = views_[i].changes(tables_, t);
    if (changes == changes_[i]) {
      continue;
    }
    changes_[i] = changes;
    std::array<std::uint32_t, MaxBeatWords> words;
    views_[i].fill(nic_.context.params, tables_, t, words.data());
    const rtl_level& pins = block_->pins().levels[levels_.size() + i];
    if (std::memcmp(pins.data, words.data(), pins.bytes) != 0) {
      std::memcpy(pins.data, words.data(), pins.bytes);
      changed = true;
    }
  }
  return changed;
}

void twin_driver::check_values(cycle_t t) const {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    std::array<std::uint32_t, MaxBeatWords> words;
    values_[i].fill(tables_, t, words.data());
    const rtl_value& pins = block_->pins().values[i];
    if (std::memcmp(pins.data, words.data(), pins.bytes) != 0) {
      throw rtl_error(fmt::format("{}: in cycle {} the RTL tells another {} than the rules",
                                  instance_, t, pins.name));
    }
  }
}

void twin_driver::drive_time(cycle_t t) const {
  if (const rtl_timer_pins& timer = block_->pins().timer; timer.cycle != nullptr) {
    *timer.cycle = t;
  }
}

bool twin_driver::busy(cycle_t t) const {
  return block_->busy() || wakes_at() <= t;
}

cycle_t twin_driver::wakes_at() const {
  const rtl_timer_pins& timer = block_->pins().timer;
  return timer.cycle == nullptr ? NeverCycle : cycle_t{*timer.wake_at};
}

void twin_driver::offer_nothing() {
  for (const port_state& each : ports_) {
    if (each.stream->input()) {
      *each.pins.valid = 0;
    }
  }
}

void twin_driver::settle_block(cycle_t t) {
  drive_time(t);
  serve_store();
  block_->settle();
  for (std::size_t i = 0; i < lookups_.size(); ++i) {
    if (answer(t, i)) {
      block_->settle();
    }
  }
}

/// Whether the answer is another one than before.
bool twin_driver::answer(cycle_t t, std::size_t index) {
  const twin_lookup_desc& what = lookups_[index];
  const rtl_lookup& pins = block_->pins().lookups[index];
  std::array<std::uint32_t, MaxBeatWords> query;
  std::array<std::uint32_t, MaxBeatWords> reply;
  query[what.query_words - 1] = 0;
  std::memcpy(query.data(), pins.query,
              std::min(pins.query_bytes, std::size_t{what.query_words} * 4));
  what.answer(tables_, t, query.data(), reply.data());
  const std::size_t bytes = std::min(pins.answer_bytes, std::size_t{what.answer_words} * 4);
  if (std::memcmp(pins.answer, reply.data(), bytes) == 0) {
    return false;
  }
  std::memcpy(pins.answer, reply.data(), bytes);
  return true;
}

bool twin_driver::offers_input(cycle_t t) const {
  return std::any_of(ports_.begin(), ports_.end(), [t](const port_state& each) {
    return each.stream->input() && each.stream->offered(t);
  });
}

bool twin_driver::transfers_output(cycle_t t) const {
  return std::any_of(ports_.begin(), ports_.end(), [t](const port_state& each) {
    return !each.stream->input() && each.stream->base().transferring(t);
  });
}

void twin_driver::settle(cycle_t t) {
  // What others took of an output in this cycle is known only after all transfers; then the block
  // settles later.
  settled_ = false;
  const bool offered = offers_input(t);
  if (drive_views(t) && !offered && !busy(t)) {
    // The block may have something to do because of it, and says so.
    offer_nothing();
    drive_time(t);
    block_->settle();
  }
  if (!offered && !busy(t)) {
    return;
  }
  for (const port_state& each : ports_) {
    if (!each.stream->input()) {
      continue;
    }
    const bool valid = each.stream->offered(t);
    *each.pins.valid = valid ? 1 : 0;
    if (valid) {
      std::array<std::uint32_t, MaxBeatWords> words;
      each.stream->pack(t, words.data());
      std::memcpy(each.pins.data, words.data(),
                  std::min(each.pins.bytes, std::size_t{each.stream->words()} * 4));
    }
  }
  drive_levels(t);
  settle_block(t);
  settled_ = true;
}

bool twin_driver::clock(cycle_t t, bool always) {
  if (!settled_) {
    if (!always && !transfers_output(t)) {
      return false;
    }
    offer_nothing();
    settle_block(t);
  }
  check_values(t);
  before_edge(t);
  for (port_state& each : ports_) {
    if (each.stream->input()) {
      continue;
    }
    const bool taken = each.stream->base().transferring(t);
    *each.pins.ready = taken ? 1 : 0;
    if (taken) {
      if (!each.visible.empty()) {
        each.visible.pop();
      }
      if (!each.stream->base().transferring(t + 1)) {
        each.handled = false;
      }
    }
    if (bit(each.pins.push)) {
      each.visible.push(t + 1);
    }
  }
  one_edge(t);
  unclocked_ = t + 1;
  after_edge(t);
  return true;
}

void twin_driver::serve_store() {
  if (store_ == nullptr) {
    return;
  }
  const auto [which, data] = block_->pins().store;
  std::array<std::uint8_t, BeatBytes> line{};
  store_->read(*which, line.data());
  // Word 0 has the last bytes.
  for (std::size_t i = 0; i < BeatBytes / 4; ++i) {
    data[BeatBytes / 4 - 1 - i] =
        static_cast<std::uint32_t>(bytes::load_be<4>(line.data() + 4 * i));
  }
}

cycle_t twin_driver::next(cycle_t t) const {
  if (block_->busy() || transfers_output(t + 1)) {
    return t + 1;
  }
  // A wake for an item may have been merged into an earlier one, so what is known is asked for
  // again.
  cycle_t first = std::max(wakes_at(), t + 1);
  for (const port_state& each : ports_) {
    if (!each.stream->input()) {
      continue;
    }
    const stream_base& stream = each.stream->base();
    const cycle_t offered = stream.transferring(t + 1) ? t + 1 : stream.next_take();
    first = std::min(first, std::max(offered, t + 1));
  }
  return first;
}

void twin_driver::read_content(content_words which, const word_check& check) {
  if (content_ == nullptr) {
    return;
  }
  for (const port_state& each : ports_) {
    *(each.stream->input() ? each.pins.valid : each.pins.ready) = 0;
  }
  const rtl_content_pins& pins = block_->pins().content;
  *pins.ask = 1;
  content_->each_word(
      which, [&](std::span<const std::uint32_t> query, std::span<const std::uint32_t> expected) {
        std::memcpy(pins.query, query.data(), std::min(pins.query_bytes, query.size_bytes()));
        block_->settle();
        block_->edge();
        std::array<std::uint32_t, MaxBeatWords> answer;
        answer[expected.size() - 1] = 0;
        std::memcpy(answer.data(), pins.answer, std::min(pins.answer_bytes, expected.size_bytes()));
        check(query, expected, {answer.data(), expected.size()});
      });
  *pins.ask = 0;
  block_->settle();
}

void twin_driver::idle_edge(cycle_t t) {
  for (const port_state& each : ports_) {
    *(each.stream->input() ? each.pins.valid : each.pins.ready) = 0;
  }
  drive_time(t);
  block_->settle();
  for (const port_state& each : ports_) {
    if (!each.stream->input() && bit(each.pins.push)) {
      throw rtl_error(fmt::format("{}: busy_o was 0, but in cycle {} a beat enters output {}",
                                  instance_, t, each.pins.name));
    }
  }
  if (busy(t)) {
    throw rtl_error(
        fmt::format("{}: busy_o was 0, but in cycle {} it is 1 without a transfer", instance_, t));
  }
}

void twin_driver::catch_up(cycle_t t) {
  for (; unclocked_ < t; ++unclocked_) {
    idle_edge(unclocked_);
    one_edge(unclocked_);
  }
}

void twin_driver::audit(cycle_t t) {
  if (busy(t + 1)) {
    return;
  }
  if (flops_.empty()) {
    flops_ = block_->flops();
    CARILLON_CHECK(!flops_.empty(), "{}: the RTL shows no flops to audit", instance_);
  }
  idle_edge(t + 1);
  snapshot_.clear();
  for (const rtl_flop& each : flops_) {
    snapshot_.insert(snapshot_.end(), each.data.begin(), each.data.end());
  }
  block_->edge();
  block_->settle();
  auto before = snapshot_.cbegin();
  for (const rtl_flop& each : flops_) {
    if (!std::equal(each.data.begin(), each.data.end(), before)) {
      throw rtl_error(
          fmt::format("{}: busy_o is 0 after cycle {}, but an edge without a transfer changes {}",
                      instance_, t, each.name));
    }
    before += static_cast<std::ptrdiff_t>(each.data.size());
  }
}

}  // namespace carillon
