#include "fabric/capture.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <utility>

#include "common/clock.h"
#include "common/error.h"

namespace carillon {

namespace {

// pcapng (draft-ietf-opsawg-pcapng): block types, options, and the little of their contents that we
// use.
constexpr std::uint32_t SectionHeader = 0x0a0d0d0a;
constexpr std::uint32_t InterfaceDescription = 1;
constexpr std::uint32_t EnhancedPacket = 6;
constexpr std::uint32_t ByteOrderMagic = 0x1a2b3c4d;
constexpr std::uint32_t UnknownSectionLength = 0xffffffff;
constexpr std::uint32_t LinkTypeEthernet = 1;
constexpr std::uint32_t OptionEnd = 0;
constexpr std::uint32_t OptionComment = 1;
constexpr std::uint32_t OptionUserApplication = 4;
constexpr std::uint32_t OptionInterfaceName = 2;
constexpr std::uint32_t OptionTimeResolution = 9;
constexpr std::uint32_t OptionFcsLength = 13;
constexpr std::string_view Nanoseconds("\x09", 1);
constexpr std::string_view NoFcs("\x00", 1);
constexpr ps_t PsPerNs = 1000;
constexpr std::size_t FileBufferBytes = std::size_t{1} << 20;

bool is_special_file(const std::string& path) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
}

std::string cannot_write(const std::string& path, int error) {
  return fmt::format("{}: cannot write the capture: {}", path, std::strerror(error));
}

}  // namespace

// pcapng_file -------------------------------------------------------------------------------------

pcapng_file::pcapng_file(std::string path)
    : path_(std::move(path)),
      working_path_(is_special_file(path_) ? path_ : path_ + ".part"),
      file_(std::fopen(working_path_.c_str(), "wb")) {
  if (file_ == nullptr) {
    throw output_error(cannot_write(path_, errno));
  }
  std::setvbuf(file_.get(), nullptr, _IOFBF, FileBufferBytes);
  begin_block(SectionHeader);
  put32(ByteOrderMagic);
  put16(1);  // version 1.0
  put16(0);
  put32(UnknownSectionLength);
  put32(UnknownSectionLength);
  put_option(OptionUserApplication, "carillon");
  put_option(OptionEnd, {});
  end_block();
}

pcapng_file::~pcapng_file() {
  if (file_ != nullptr) {
    file_.reset();
    if (working_path_ != path_) {
      std::remove(working_path_.c_str());
    }
  }
}

std::uint32_t pcapng_file::add_interface(std::string_view name) {
  begin_block(InterfaceDescription);
  put16(LinkTypeEthernet);
  put16(0);
  put32(0);  // no limit on the bytes kept of a frame
  put_option(OptionInterfaceName, name);
  put_option(OptionTimeResolution, Nanoseconds);
  put_option(OptionFcsLength, NoFcs);
  put_option(OptionEnd, {});
  end_block();
  return interfaces_++;
}

void pcapng_file::add_frame(std::uint32_t interface, ps_t time, const std::uint8_t* bytes,
                            std::uint32_t length, std::string_view comment) {
  CARILLON_CHECK(interface < interfaces_, "capture: no interface {}", interface);
  const std::uint64_t stamp = time / PsPerNs;
  begin_block(EnhancedPacket);
  put32(interface);
  put32(static_cast<std::uint32_t>(stamp >> 32));
  put32(static_cast<std::uint32_t>(stamp));
  put32(length);  // bytes kept
  put32(length);  // bytes of the frame
  put_bytes(bytes, length);
  if (!comment.empty()) {
    put_option(OptionComment, comment);
    put_option(OptionEnd, {});
  }
  end_block();
}

void pcapng_file::close() {
  if (file_ == nullptr) {
    return;
  }
  if (std::fclose(file_.release()) != 0) {
    remember_error();
  }
  const bool named_at_end = working_path_ != path_;
  if (error_.empty() && named_at_end && std::rename(working_path_.c_str(), path_.c_str()) != 0) {
    remember_error();
  }
  if (!error_.empty()) {
    if (named_at_end) {
      std::remove(working_path_.c_str());
    }
    throw output_error(error_);
  }
}

void pcapng_file::begin_block(std::uint32_t type) {
  block_.clear();
  put32(type);
  put32(0);  // the length, once it is known
}

void pcapng_file::put16(std::uint32_t value) {
  block_.push_back(static_cast<std::uint8_t>(value));
  block_.push_back(static_cast<std::uint8_t>(value >> 8));
}

void pcapng_file::put32(std::uint32_t value) {
  put16(value & 0xffff);
  put16(value >> 16);
}

void pcapng_file::put_bytes(const void* bytes, std::size_t count) {
  const auto* first = static_cast<const std::uint8_t*>(bytes);
  block_.insert(block_.end(), first, first + count);
  block_.resize((block_.size() + 3) / 4 * 4);
}

void pcapng_file::put_option(std::uint32_t code, std::string_view value) {
  put16(code);
  put16(static_cast<std::uint32_t>(value.size()));
  put_bytes(value.data(), value.size());
}

void pcapng_file::end_block() {
  const auto length = static_cast<std::uint32_t>(block_.size() + 4);
  put32(length);
  for (unsigned i = 0; i < 4; ++i) {
    block_[4 + i] = static_cast<std::uint8_t>(length >> (8 * i));
  }
  if (error_.empty() &&
      std::fwrite(block_.data(), 1, block_.size(), file_.get()) != block_.size()) {
    remember_error();
  }
}

void pcapng_file::remember_error() {
  if (error_.empty()) {
    error_ = cannot_write(path_, errno);
  }
}

// capture -----------------------------------------------------------------------------------------

bool capture::pending::operator<(const pending& other) const {
  return std::tie(time, interface, sequence) >
         std::tie(other.time, other.interface, other.sequence);
}

capture::capture(std::string path, const capture_window& window)
    : file_(std::move(path)), window_(window) {}

frame_tap& capture::interface(std::string_view name) {
  taps_.push_back(std::make_unique<interface_tap>(*this, file_.add_interface(name)));
  return *taps_.back();
}

void capture::interface_tap::on_frame(ps_t first_bit, const frame_item& frame) {
  // Whatever is sent from now on leaves now or later, so what left before is complete.
  owner_.write_before(now_ps());
  last_.reset();
  if (first_bit < owner_.window_.from || first_bit >= owner_.window_.to) {
    return;
  }
  std::vector<std::uint8_t> bytes;
  if (!owner_.spare_.empty()) {
    bytes = std::move(owner_.spare_.back());
    owner_.spare_.pop_back();
  }
  const std::uint8_t* const begin = frame.bytes.data() + frame.offset;
  bytes.assign(begin, begin + frame.length);
  last_ = owner_.sequence_++;
  owner_.heap_.push_back({first_bit, index_, *last_, std::move(bytes), {}});
  std::push_heap(owner_.heap_.begin(), owner_.heap_.end());
}

void capture::interface_tap::on_fate(std::string_view what) {
  // Only frames that have not left yet are there, few enough to look through.
  const auto found = std::find_if(owner_.heap_.begin(), owner_.heap_.end(),
                                  [this](const pending& each) { return each.sequence == last_; });
  if (found != owner_.heap_.end()) {
    found->comment = what;
  }
}

void capture::write_before(ps_t time) {
  while (!heap_.empty() && heap_.front().time < time) {
    std::pop_heap(heap_.begin(), heap_.end());
    pending& next = heap_.back();
    if (written_ < window_.limit) {
      file_.add_frame(next.interface, next.time, next.bytes.data(),
                      static_cast<std::uint32_t>(next.bytes.size()), next.comment);
      ++written_;
    }
    spare_.push_back(std::move(next.bytes));
    heap_.pop_back();
  }
}

void capture::close() {
  write_before(NeverPs);
  file_.close();
}

}  // namespace carillon
