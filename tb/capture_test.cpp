#include "fabric/capture.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>
#include <vector>

#include "common/buffer.h"
#include "common/error.h"

namespace carillon {

namespace {

using octets = std::vector<std::uint8_t>;

/// Reads what the pcapng draft says a reader must see, in the little-endian form.
struct reader {
  struct packet {
    std::uint32_t interface;
    std::uint64_t stamp;
    octets bytes;
    std::string comment;
  };

  std::vector<std::string> interfaces;
  std::vector<int> resolutions;
  std::vector<packet> packets;

  explicit reader(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const octets all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const auto u16 = [&all](std::size_t at) {
      return std::uint32_t{all.at(at)} | all.at(at + 1) << 8U;
    };
    const auto u32 = [&u16](std::size_t at) { return u16(at) | u16(at + 2) << 16U; };
    EXPECT_EQ(u32(0), 0x0a0d0d0aU);
    EXPECT_EQ(u32(8), 0x1a2b3c4dU);
    EXPECT_EQ(u32(12), 1U);
    std::size_t at = 0;
    while (at < all.size()) {
      const std::uint32_t type = u32(at);
      const std::uint32_t length = u32(at + 4);
      EXPECT_EQ(length % 4, 0U);
      EXPECT_EQ(u32(at + length - 4), length);
      if (type == 1) {
        EXPECT_EQ(u16(at + 8), 1U);  // Ethernet
        int resolution = 6;
        std::string name;
        for (std::size_t o = at + 16; u16(o) != 0; o += 4 + (u16(o + 2) + 3) / 4 * 4) {
          if (u16(o) == 2) {
            name.assign(all.begin() + static_cast<long>(o) + 4,
                        all.begin() + static_cast<long>(o + 4 + u16(o + 2)));
          } else if (u16(o) == 9) {
            resolution = all[o + 4];
          }
        }
        interfaces.push_back(name);
        resolutions.push_back(resolution);
      } else if (type == 6) {
        EXPECT_EQ(u32(at + 20), u32(at + 24));
        const std::uint32_t kept = u32(at + 20);
        packets.push_back({u32(at + 8),
                           std::uint64_t{u32(at + 12)} << 32 | u32(at + 16),
                           octets(all.begin() + static_cast<long>(at) + 28,
                                  all.begin() + static_cast<long>(at + 28 + kept)),
                           {}});
        // Options begin at the next dword and end before the repeated length.
        std::size_t o = at + 28 + (kept + 3) / 4 * 4;
        if (o != at + length - 4) {
          EXPECT_EQ(u16(o), 1U);  // a comment
          packets.back().comment.assign(all.begin() + static_cast<long>(o) + 4,
                                        all.begin() + static_cast<long>(o + 4 + u16(o + 2)));
          o += 4 + (u16(o + 2) + 3) / 4 * 4;
          EXPECT_EQ(u32(o), 0U);  // the end of options
          EXPECT_EQ(o + 4, at + length - 4);
        }
      }
      at += length;
    }
  }
};

struct capture_file : testing::Test {
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("carillon_capture_" + std::to_string(getpid()));
  std::string path = (folder / "wire.pcapng").string();
  buffer_pool buffers;

  capture_file() { std::filesystem::create_directories(folder); }

  ~capture_file() override { std::filesystem::remove_all(folder); }

  frame_item frame(std::initializer_list<std::uint8_t> bytes) {
    frame_item item;
    item.bytes = buffers.take();
    item.offset = 5;
    item.length = static_cast<std::uint32_t>(bytes.size());
    std::copy(bytes.begin(), bytes.end(), item.bytes.data() + 5);
    return item;
  }

  [[nodiscard]] bool exists(const std::string& file) const { return std::filesystem::exists(file); }
};

}  // namespace

TEST_F(capture_file, holds_interfaces_and_frames) {
  capture taken(path);
  frame_tap& left = taken.interface("nic0");
  frame_tap& right = taken.interface("a longer name");
  left.on_frame(1999, frame({1, 2, 3, 4, 5}));                 // 1.999 ns is 1 ns
  right.on_frame(5'000'000'000'000'000, frame({9, 8, 7, 6}));  // 5000 s: both halves of the stamp
  taken.close();
  EXPECT_EQ(taken.frames(), 2U);

  const reader seen(path);
  EXPECT_EQ(seen.interfaces, (std::vector<std::string>{"nic0", "a longer name"}));
  EXPECT_EQ(seen.resolutions, (std::vector<int>{9, 9}));
  ASSERT_EQ(seen.packets.size(), 2U);
  EXPECT_EQ(seen.packets[0].interface, 0U);
  EXPECT_EQ(seen.packets[0].stamp, 1U);
  EXPECT_EQ(seen.packets[0].bytes, (octets{1, 2, 3, 4, 5}));
  EXPECT_EQ(seen.packets[1].interface, 1U);
  EXPECT_EQ(seen.packets[1].stamp, 5'000'000'000'000U);
  EXPECT_EQ(seen.packets[1].bytes, (octets{9, 8, 7, 6}));
}

// Frames are announced ahead; the file is in the order in which they leave, whoever announced
// first.
TEST_F(capture_file, is_in_the_order_of_time_then_interface) {
  capture taken(path);
  frame_tap& left = taken.interface("left");
  frame_tap& right = taken.interface("right");
  right.on_frame(7000, frame({1}));
  left.on_frame(9000, frame({2}));
  right.on_frame(9000, frame({3}));
  left.on_frame(3000, frame({4}));
  sc_core::sc_start(sc_core::sc_time::from_value(8000));
  left.on_frame(8000, frame({5}));
  taken.close();
  octets order;
  for (const auto& each : reader(path).packets) {
    order.push_back(each.bytes[0]);
  }
  EXPECT_EQ(order, (octets{4, 1, 5, 2, 3}));
}

TEST_F(capture_file, keeps_the_bytes_as_they_left) {
  capture taken(path);
  frame_tap& tap = taken.interface("nic0");
  frame_item sent = frame({1, 2, 3});
  tap.on_frame(0, sent);
  sent.bytes.data()[5] = 0xff;
  taken.close();
  EXPECT_EQ(reader(path).packets.at(0).bytes, (octets{1, 2, 3}));
}

TEST_F(capture_file, what_happens_to_a_frame_is_its_comment) {
  capture taken(path, {2000, 9000});
  frame_tap& left = taken.interface("left");
  frame_tap& right = taken.interface("right");
  left.on_frame(2000, frame({1}));
  left.on_frame(3000, frame({2, 2}));
  left.on_fate("fault: dropped (rule 0)");
  right.on_frame(1000, frame({3}));  // outside of the window, and so is what becomes of it
  right.on_fate("fault: dropped (rule 1)");
  right.on_frame(2500, frame({4}));
  sc_core::sc_start(sc_core::sc_time::from_value(8000));
  right.on_frame(8000, frame({5}));
  right.on_fate("fault: delayed (rule 22)");
  taken.close();
  const reader seen(path);
  std::vector<std::string> comments;
  for (const auto& each : seen.packets) {
    comments.push_back(std::to_string(each.bytes[0]) + each.comment);
  }
  EXPECT_EQ(comments, (std::vector<std::string>{"1", "4", "2fault: dropped (rule 0)",
                                                "5fault: delayed (rule 22)"}));
}

TEST_F(capture_file, window_and_limit_choose_frames) {
  capture taken(path, {2000, 5000, 2});
  frame_tap& tap = taken.interface("nic0");
  for (std::uint8_t i = 0; i < 10; ++i) {
    tap.on_frame(ps_t{i} * 1000, frame({i}));
  }
  taken.close();
  const reader seen(path);
  ASSERT_EQ(seen.packets.size(), 2U);
  EXPECT_EQ(seen.packets[0].bytes[0], 2);
  EXPECT_EQ(seen.packets[1].bytes[0], 3);
}

TEST_F(capture_file, has_its_name_only_when_complete) {
  {
    capture taken(path);
    taken.interface("nic0").on_frame(0, frame({1}));
    EXPECT_FALSE(exists(path));
    EXPECT_TRUE(exists(path + ".part"));
    taken.close();
    EXPECT_TRUE(exists(path));
    EXPECT_FALSE(exists(path + ".part"));
  }
  EXPECT_TRUE(exists(path));
}

TEST_F(capture_file, an_aborted_run_leaves_nothing_and_spares_the_old_file) {
  std::ofstream(path) << "old";
  {
    capture taken(path);
    taken.interface("nic0").on_frame(0, frame({1}));
  }
  EXPECT_FALSE(exists(path + ".part"));
  EXPECT_EQ(std::filesystem::file_size(path), 3U);
}

TEST_F(capture_file, names_a_path_that_cannot_be_written) {
  const std::string nowhere = (folder / "missing" / "wire.pcapng").string();
  try {
    capture taken(nowhere);
    FAIL() << "no error";
  } catch (const output_error& error) {
    EXPECT_THAT(error.what(),
                testing::HasSubstr(nowhere + ": cannot write the capture: No such file"));
  }
}

TEST_F(capture_file, reports_a_full_disk_at_the_end) {
  // The working file is a link to a device that is always full.
  std::filesystem::create_symlink("/dev/full", path + ".part");
  capture taken(path);
  frame_tap& tap = taken.interface("nic0");
  for (int i = 0; i < 100000; ++i) {
    tap.on_frame(0, frame({1, 2, 3, 4}));  // more than the file's buffer
  }
  try {
    taken.close();
    FAIL() << "no error";
  } catch (const output_error& error) {
    EXPECT_THAT(error.what(),
                testing::AllOf(testing::HasSubstr(path), testing::HasSubstr("No space")));
  }
  EXPECT_FALSE(exists(path));
  EXPECT_FALSE(exists(path + ".part"));
  EXPECT_TRUE(exists("/dev/full"));
}

// Few frames: the error only shows when the buffer is written out at the end.
TEST_F(capture_file, reports_a_full_disk_even_for_a_short_file) {
  capture taken("/dev/full");
  taken.interface("nic0").on_frame(0, frame({1}));
  EXPECT_THROW(taken.close(), output_error);
  EXPECT_TRUE(exists("/dev/full"));
}

}  // namespace carillon
