// A tap that writes what it sees to a pcapng file, for Wireshark and its kin.
//
// One file holds any number of interfaces, one for each end of a cable that is tapped. Frames are
// written without FCS, stamped with the time at which their first bit leaves, in nanoseconds
// (picoseconds are rounded down), in the order of time, then interface: as they were sent, whatever
// happens to them on the way. If that is known, it is the packet's comment. The file gets its name
// only when it is complete.
#pragma once

#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/types.h"
#include "fabric/wire_link.h"

namespace carillon {

/// A pcapng file being written. Errors are remembered, not thrown, since frames are written while
/// the kernel runs; close() reports the first.
class pcapng_file {
 public:
  /// Throws output_error if the file cannot be created.
  explicit pcapng_file(std::string path);
  pcapng_file(const pcapng_file&) = delete;
  pcapng_file& operator=(const pcapng_file&) = delete;
  /// Without close(), nothing is left behind.
  ~pcapng_file();

  /// Interfaces are numbered from 0 and declared before their first frame.
  std::uint32_t add_interface(std::string_view name);

  void add_frame(std::uint32_t interface, ps_t time, const std::uint8_t* bytes,
                 std::uint32_t length, std::string_view comment = {});

  /// Completes the file and gives it its name. Throws output_error with the path if anything could
  /// not be written.
  void close();

 private:
  struct file_closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  void begin_block(std::uint32_t type);
  void put16(std::uint32_t value);
  void put32(std::uint32_t value);
  void put_bytes(const void* bytes, std::size_t count);  ///< padded to whole dwords
  void put_option(std::uint32_t code, std::string_view value);
  void end_block();
  void remember_error();

  std::string path_;
  std::string working_path_;  ///< `path_` itself if that is a device or a pipe
  std::unique_ptr<std::FILE, file_closer> file_;
  std::vector<std::uint8_t> block_;
  std::uint32_t interfaces_ = 0;
  std::string error_;
};

/// Which frames are kept.
struct capture_window {
  ps_t from = 0;
  ps_t to = NeverPs;  ///< not included
  std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();
};

class capture {
 public:
  explicit capture(std::string path, const capture_window& window = {});

  /// A tap whose frames go to an interface of that name. It lives as long as the capture.
  frame_tap& interface(std::string_view name);

  /// At the end of the run: writes what is left and completes the file.
  void close();

  [[nodiscard]] std::uint64_t frames() const { return written_; }

 private:
  class interface_tap : public frame_tap {
   public:
    interface_tap(capture& owner, std::uint32_t index) : owner_(owner), index_(index) {}

    void on_frame(ps_t first_bit, const frame_item& frame) override;
    void on_fate(std::string_view what) override;

   private:
    capture& owner_;
    std::uint32_t index_;
    std::optional<std::uint64_t> last_;  ///< sequence of the frame that was seen last, if kept
  };

  /// A frame that is announced but may yet be preceded by another. It owns its bytes, because
  /// others may change the buffer on the way.
  struct pending {
    ps_t time;
    std::uint32_t interface;
    std::uint64_t sequence;
    std::vector<std::uint8_t> bytes;
    std::string comment;
    bool operator<(const pending& other) const;  ///< of a heap that has the earliest on top
  };

  void write_before(ps_t time);

  pcapng_file file_;
  capture_window window_;
  std::vector<std::unique_ptr<interface_tap>> taps_;
  std::vector<pending> heap_;
  std::vector<std::vector<std::uint8_t>> spare_;  ///< memory of frames already written
  std::uint64_t sequence_ = 0;
  std::uint64_t written_ = 0;
};

}  // namespace carillon
