#include "tb/isolation/tenants.h"

#include <algorithm>

#include "common/error.h"

namespace carillon::isolation {

namespace {

constexpr unsigned LogRing = 4;
constexpr unsigned LogCompletions = 6;
constexpr unsigned LogEvents = 8;
constexpr unsigned InterruptCore = 3;
/// The first address is everybody's own; this one a function takes back later.
constexpr std::uint8_t StaleGid = 1;

template <class Module>
Module* find_module(const char* name) {
  auto* found = dynamic_cast<Module*>(sc_core::sc_find_object(name));
  CARILLON_CHECK(found != nullptr, "there is no {}", name);
  return found;
}

gid own_address(std::uint16_t function, std::uint32_t net) {
  return gid_of_ipv4(net + function);
}

}  // namespace

run_point tenant_house::point(std::uint64_t seed, std::uint64_t shuffle) {
  run_point made = parse_scenario("[workload]\n", "isolation.toml").points.front();
  made.seed = seed;
  made.shuffle = shuffle;
  auto& nic = made.params.nic;
  nic.total_vfs = Functions + 1;
  nic.command_cycles = 10;
  nic.msix_vectors = Vectors;
  nic.log_max_qp = 7;
  nic.log_max_cq = 6;
  nic.log_max_eq = 5;
  nic.log_max_srq = 5;
  nic.log_max_mkey = 7;
  nic.log_max_mtt_lines = 6;
  device_settings& first = made.devices.at(0);
  first.sriov = true;
  first.vfs = Functions - 1;
  first.vf.resize(Functions - 1);
  first.vf[Bystander - 1].vlan = BystanderVlan;
  first.vf[Bystander - 1].weight = 2;
  return made;
}

tenant_house::tenant_house(std::uint64_t seed, std::uint64_t shuffle)
    : system(point(seed, shuffle), InterruptCore + 1, {}) {
  admin_ =
      std::make_unique<sriov>(home().slot, home().driver, point(seed, shuffle).devices.at(0),
                              [this](unsigned function) { return &home().make_device(function); });
  ram_ = find_module<qpc_ram>("nic0_qpc_ram");
  endpoint_ = find_module<pcie_endpoint>("nic0_pcie_endpoint");
}

task<> tenant_house::open(cpu& core) {
  co_await admin_->open(core);
  for (std::uint16_t function = 0; function < Functions; ++function) {
    tenant& who = of(function);
    who.function = function;
    who.driver =
        function == Pf ? &home().driver : &admin_->vf(static_cast<std::uint16_t>(function - 1));
    co_await who.driver->open(core);
    who.where = home().slot.function(function);
    // Page numbers are each function's own: the PF has one that the attacker has not, and the other
    // VFs have one that the PF has not.
    co_await furnish(core, who, function == Attacker ? 2 : function == Pf ? 3 : 4);
  }
  // What it had goes with it; its driver does not know.
  co_await of(Pf).driver->command(core, command_opcode::DisableHca, Ghost);
}

void tenant_house::inject(packet_description packet, std::uint32_t payload,
                          const std::function<void(frame_bytes&)>& change) {
  constexpr std::uint32_t Offset = 128;
  packet.payload = payload;
  frame_bytes room(Offset + payload + MinFrameBytes + 16);
  const header_place headers = build_headers(packet, room.data(), Offset);
  const finished_frame done = finish_frame(room.data(), headers, payload);
  frame_bytes frame(room.begin() + done.offset, room.begin() + done.offset + done.length);
  change(frame);
  frame_item item;
  item.bytes = frames_.take();
  item.length = static_cast<std::uint32_t>(frame.size());
  std::copy(frame.begin(), frame.end(), item.bytes.data());
  item.fcs = fcs_of_frame(frame.data(), frame.size());
  away().wire.send(std::move(item), now_ps());
}

task<> tenant_house::connect(cpu& core, queue_pair& left, queue_pair& right) {
  connection_options options;
  options.mtu = mtu_code::Mtu1024;
  options.remote_atomic = true;
  options.ack_timeout = 0;
  co_await left.to_init(core, options);
  co_await right.to_init(core, options);
  co_await left.to_rtr(core, right.address(), options);
  co_await right.to_rtr(core, left.address(), options);
  co_await left.to_rts(core, options);
  co_await right.to_rts(core, options);
}

task<> tenant_house::connect_datagram(cpu& core, queue_pair& qp, std::uint8_t gid_index) {
  connection_options options;
  options.mtu = mtu_code::Mtu1024;
  options.qkey = Qkey;
  options.gid_index = gid_index;
  co_await qp.to_init(core, options);
  co_await qp.to_rtr(core, {}, options);
  co_await qp.to_rts(core, options);
}

task<std::unique_ptr<queue_pair>> tenant_house::make_qp(cpu& core, tenant& who,
                                                        qpc_service service) {
  queue_pair_options options;
  options.service = service;
  options.log_sq_size = LogRing;
  options.log_rq_size = LogRing;
  options.doorbell = doorbell_mode::doorbell_only;
  co_return co_await queue_pair::create(*who.driver, core, who.pd, *who.uar, *who.cq, *who.cq,
                                        options);
}

task<> tenant_house::furnish(cpu& core, tenant& who, unsigned pages) {
  device& driver = *who.driver;
  machine& host = home().host;
  who.pd = co_await driver.alloc_pd(core);
  who.other_pd = co_await driver.alloc_pd(core);
  who.uar = co_await driver.alloc_uar(core);
  who.spare = co_await driver.alloc_uar(core);
  who.last_page = who.spare->number;
  for (unsigned i = 2; i < pages; ++i) {
    who.last_page = (co_await driver.alloc_uar(core))->number;
  }
  co_await driver.bind_vector(core, 0, InterruptCore);
  who.events = co_await event_queue::create(driver, core, *who.uar, LogEvents, QueueEvents);
  who.cq =
      co_await completion_queue::create(driver, core, *who.uar, LogCompletions, who.events.get());
  shared_receive_options shared;
  shared.log_size = LogRing;
  who.srq = co_await shared_receive_queue::create(driver, core, who.pd, shared);
  const memory_access_rights all{true, true, true, true, true};
  const std::uint64_t room = host.allocate(BufferBytes, 4096);
  who.buffer = co_await driver.register_memory(core, who.pd, room, BufferBytes, all);
  who.foreign = co_await driver.register_memory(core, who.other_pd, room, BufferBytes, all);
  page_list list;
  list.start = 0x10000;
  for (unsigned i = 0; i < 4; ++i) {
    list.pages.push_back(host.allocate(4096, 4096));
  }
  who.paged_at = list.pages.front();
  who.paged = co_await driver.register_pages(core, who.pd, list, 4 * std::uint64_t{4096}, all);
  who.rc = co_await make_qp(core, who, qpc_service::Rc);
  who.rc_peer = co_await make_qp(core, who, qpc_service::Rc);
  who.uc = co_await make_qp(core, who, qpc_service::Uc);
  who.uc_peer = co_await make_qp(core, who, qpc_service::Uc);
  who.ud = co_await make_qp(core, who, qpc_service::Ud);
  who.stale = co_await make_qp(core, who, qpc_service::Ud);
  who.blank = co_await make_qp(core, who, qpc_service::Rc);
  co_await connect(core, *who.rc, *who.rc_peer);
  co_await connect(core, *who.uc, *who.uc_peer);
  co_await connect_datagram(core, *who.ud);
  co_await driver.set_address(core, StaleGid, {own_address(who.function, 0x0a020000), {}});
  co_await connect_datagram(core, *who.stale, StaleGid);
  co_await driver.set_address(core, StaleGid, {own_address(who.function, 0x0a030000), {}});
  for (const auto* qp :
       {&who.rc, &who.rc_peer, &who.uc, &who.uc_peer, &who.ud, &who.stale, &who.blank}) {
    who.qpns.push_back((*qp)->qpn());
  }
}

}  // namespace carillon::isolation
