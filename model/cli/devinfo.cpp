#include "cli/devinfo.h"

#include <array>
#include <bit>
#include <fmt/format.h>

#include "cli/system.h"
#include "host/sriov.h"

namespace carillon {

namespace {

using json = nlohmann::ordered_json;

constexpr unsigned RoceV2 = 2;

std::string name_of(const device_info& device) {
  return fmt::format("mlx5_{}", device.function);
}

std::string guid(std::uint64_t value) {
  return fmt::format("{:04x}:{:04x}:{:04x}:{:04x}", value >> 48, value >> 32 & 0xffff,
                     value >> 16 & 0xffff, value & 0xffff);
}

std::string firmware(const device_info& device) {
  return fmt::format("{}.{}.{:04}", device.firmware_major, device.firmware_minor,
                     device.firmware_sub);
}

std::string gid_text(const roce_addr_layout& entry) {
  const auto& bytes = entry.source_l3_address;
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 2) {
    text += fmt::format("{}{:02x}{:02x}", i == 0 ? "" : ":", bytes[i], bytes[i + 1]);
  }
  return text;
}

const char* gid_kind(const roce_addr_layout& entry) {
  return entry.roce_version == RoceV2 ? "RoCE v2" : "RoCE v1";
}

unsigned mtu_bytes(mtu_code code) {
  return 128U << static_cast<unsigned>(code);
}

/// The largest path MTU whose packets fit the port's frames: what the ports negotiate.
mtu_code active_mtu(const device_info& device) {
  constexpr unsigned Headers = 64;  // IP to RETH, rounded up; as the kernel reckons
  mtu_code best = mtu_code::Mtu256;
  for (unsigned code = 1; code <= static_cast<unsigned>(device.capabilities.max_mtu); ++code) {
    if (mtu_bytes(static_cast<mtu_code>(code)) + Headers <= device.port.mtu) {
      best = static_cast<mtu_code>(code);
    }
  }
  return best;
}

std::string mtu_text(mtu_code code) {
  return fmt::format("{} ({})", mtu_bytes(code), static_cast<unsigned>(code));
}

std::string state_text(const device_info& device) {
  return device.link_up ? "PORT_ACTIVE (4)" : "PORT_DOWN (1)";
}

task<> ask_all(cpu& core, node& home, sriov& functions, std::vector<device_info>& into) {
  co_await functions.open(core);
  into.push_back(co_await query_device(core, home.slot, home.driver, 0));
  for (std::uint16_t index = 0; index < functions.vfs(); ++index) {
    device& vf = functions.vf(index);
    co_await vf.open(core);
    into.push_back(co_await query_device(core, home.slot, vf, index + 1U));
  }
}

class listing_text {
 public:
  void line(unsigned depth, const std::string& key, const std::string& value) {
    const std::string label = key + ":";
    text_ += fmt::format("{}{:<{}}{}\n", std::string(depth, '\t'), label, Width, value);
  }

  template <class Number>
  void number(unsigned depth, const std::string& key, Number value) {
    line(depth, key, fmt::format("{}", value));
  }

  void heading(const std::string& text) { text_ += text + "\n"; }

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  static constexpr unsigned Width = 32;
  std::string text_;
};

void add_device(listing_text& to, const device_info& device) {
  const hca_cap& cap = device.capabilities;
  to.line(0, "hca_id", name_of(device));
  to.line(1, "transport", "InfiniBand (0)");
  to.line(1, "fw_ver", firmware(device));
  to.line(1, "node_guid", guid(device.port.node_guid));
  to.line(1, "sys_image_guid", guid(device.port.system_image_guid));
  to.line(1, "vendor_id", fmt::format("0x{:04x}", device.vendor_id));
  to.number(1, "vendor_part_id", device.device_id);
  to.line(1, "hw_ver", "0x0");
  to.number(1, "phys_port_cnt", 1);
  to.line(1, "function",
          device.function == 0
              ? fmt::format("PF, {} of {} VFs enabled", device.enabled_vfs, device.total_vfs)
              : fmt::format("VF {}{}", device.function - 1, cap.trust != 0 ? ", trusted" : ""));
  to.line(1, "routing_id",
          fmt::format("{:02x}:{:02x}.{}", device.routing_id >> 8, device.routing_id >> 3 & 0x1f,
                      device.routing_id & 7));
  to.number(1, "max_qp", cap.num_qps);
  to.number(1, "max_qp_wr", 1U << cap.log_max_qp_size);
  to.number(1, "max_cq", cap.num_cqs);
  to.number(1, "max_cqe", (1U << cap.log_max_cq_size) - 1);
  to.number(1, "max_mr", cap.num_mkeys);
  to.number(1, "max_srq", cap.num_srqs);
  to.number(1, "max_qp_rd_atom", 1U << cap.log_max_ra_res_qp);
  to.number(1, "max_qp_init_rd_atom", 1U << cap.log_max_ra_req_qp);
  to.line(1, "atomic_cap", cap.atomic != 0 ? "ATOMIC_HCA (1)" : "ATOMIC_NONE (0)");
  to.number(1, "max_pkeys", cap.num_pkeys);
  to.number(1, "num_comp_vectors", cap.num_msix);
  to.line(2, "port", "1");
  to.line(3, "state", state_text(device));
  to.line(3, "max_mtu", mtu_text(cap.max_mtu));
  to.line(3, "active_mtu", mtu_text(active_mtu(device)));
  to.number(3, "sm_lid", 0);
  to.number(3, "port_lid", 0);
  to.line(3, "link_layer", "Ethernet");
  to.line(3, "max_msg_sz", fmt::format("0x{:x}", std::uint64_t{1} << cap.log_max_msg));
  to.line(3, "active_speed", fmt::format("{} Gb/s", cap.link_gbps));
  to.number(3, "gid_tbl_len", cap.num_gids);
  for (const device_info::gid_entry& each : device.gids) {
    to.line(3, fmt::format("GID[{:3}]", each.index),
            fmt::format("{}, {}", gid_text(each.address), gid_kind(each.address)));
  }
  to.heading("");
}

}  // namespace

std::vector<device_info> find_devices(const run_point& point) {
  system_model system(point, 1, {});
  node& home = system.at(0);
  sriov functions(home.slot, home.driver, point.devices.at(0),
                  [&home](unsigned function) { return &home.make_device(function); });
  std::vector<device_info> devices;
  cpu& core = home.host.core(0);
  core.run(ask_all(core, home, functions, devices));
  system.run();
  return devices;
}

std::string render_devices(const std::vector<device_info>& devices) {
  listing_text text;
  for (const device_info& each : devices) {
    add_device(text, each);
  }
  return text.take();
}

json devices_json(const std::vector<device_info>& devices) {
  json list = json::array();
  for (const device_info& each : devices) {
    json gids = json::object();
    for (const device_info::gid_entry& entry : each.gids) {
      gids[std::to_string(entry.index)] = {{"gid", gid_text(entry.address)},
                                           {"type", gid_kind(entry.address)}};
    }
    const hca_cap& cap = each.capabilities;
    list.push_back({{"hca_id", name_of(each)},
                    {"function", each.function},
                    {"routing_id", each.routing_id},
                    {"fw_ver", firmware(each)},
                    {"node_guid", guid(each.port.node_guid)},
                    {"sys_image_guid", guid(each.port.system_image_guid)},
                    {"vendor_id", each.vendor_id},
                    {"vendor_part_id", each.device_id},
                    {"phys_port_cnt", 1},
                    {"state", state_text(each)},
                    {"max_mtu", mtu_bytes(cap.max_mtu)},
                    {"active_mtu", mtu_bytes(active_mtu(each))},
                    {"link_layer", "Ethernet"},
                    {"max_qp", cap.num_qps},
                    {"max_cq", cap.num_cqs},
                    {"max_mr", cap.num_mkeys},
                    {"trusted", cap.trust != 0},
                    {"gids", std::move(gids)}});
  }
  return list;
}

}  // namespace carillon
