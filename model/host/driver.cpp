#include "host/driver.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "gen/bytes.h"
#include "gen/wqe.h"
#include "host/firmware.h"

namespace carillon {

namespace {

constexpr std::uint32_t WordBytes = 8;
/// RoCE version 2 and the address families in the GID table.
constexpr std::uint8_t RoceV2 = 2;
constexpr std::uint8_t L3Ipv4 = 0;
constexpr std::uint8_t L3Ipv6 = 1;
/// How often and how long a driver looks whether the firmware runs.
constexpr ps_t FirmwarePoll = 10'000'000;
constexpr unsigned FirmwarePolls = 10'000;

template <class T>
void put(std::vector<T*>& table, std::uint32_t number, T* object) {
  if (number >= table.size()) {
    table.resize(number + 1, nullptr);
  }
  table[number] = object;
}

mkc key_context(std::uint32_t pd, std::uint64_t address, std::uint64_t length,
                memory_access_rights rights, std::uint8_t variant, std::uint32_t qpn) {
  mkc key;
  key.lr = rights.local_read ? 1 : 0;
  key.lw = rights.local_write ? 1 : 0;
  key.rr = rights.remote_read ? 1 : 0;
  key.rw = rights.remote_write ? 1 : 0;
  key.a = rights.remote_atomic ? 1 : 0;
  key.qpn = qpn;
  key.mkey_7_0 = variant;
  key.pd = pd;
  key.start_addr = address;
  key.len = length;
  return key;
}

}  // namespace

command_refused::command_refused(command_opcode refused, command_status why,
                                 command_syndrome detail)
    : config_error(fmt::format("the device refused {}: {} ({})", to_string(refused), to_string(why),
                               to_string(detail))),
      opcode(refused),
      status(why),
      syndrome(detail) {}

device::device(machine& host, pci_bus& slot, unsigned function, posted_work& posted,
               const gid& address)
    : host_(host),
      slot_(slot),
      function_(function),
      posted_(posted),
      addresses_{source_address{address, {}}},
      commands_(host) {
  slot_.listen(function_, *this);
}

device::~device() {
  slot_.leave(*this);
}

/// Nobody answers the commands that were under way.
void device::function_reset() {
  commands_.abandon();
}

void device::enter(std::uint32_t qpn, queue_pair* qp) {
  put(qps_, qpn, qp);
}

void device::enter_cq(std::uint32_t cqn, completion_queue* cq) {
  put(cqs_, cqn, cq);
}

const gid& device::address(unsigned index) const {
  static const gid None{};
  return index < addresses_.size() ? addresses_[index].address : None;
}

task<std::uint64_t> device::load(cpu& core, std::uint32_t offset, std::uint32_t bytes) {
  co_return co_await core.load(where_.bar0 + offset, bytes);
}

task<command_reply> device::try_command(cpu& core, std::span<const std::uint8_t> input,
                                        std::span<std::uint8_t> output) {
  std::array<std::uint8_t, cmd_out::Size> head{};
  const std::span<std::uint8_t> wanted = output.size() < head.size() ? std::span(head) : output;
  const command_delivery delivery = co_await commands_.run(core, input, wanted);
  if (delivery != command_delivery::Ok) {
    co_return command_reply{command_status::InternalError, command_syndrome::Mailbox, delivery, 0};
  }
  std::copy_n(wanted.begin(), output.size(), output.begin());
  const cmd_out out = cmd_out::unpack(wanted.data());
  co_return command_reply{out.status, static_cast<command_syndrome>(out.syndrome), delivery,
                          out.number};
}

task<command_reply> device::command(cpu& core, std::span<const std::uint8_t> input,
                                    std::span<std::uint8_t> output) {
  const command_reply reply = co_await try_command(core, input, output);
  if (reply.status != command_status::Ok) {
    throw command_refused(cmd_in::unpack(input.data()).opcode, reply.status, reply.syndrome);
  }
  co_return reply;
}

task<command_reply> device::command(cpu& core, command_opcode opcode, std::uint32_t number) {
  std::array<std::uint8_t, cmd_in::Size> raw{};
  cmd_in head;
  head.opcode = opcode;
  head.number = number;
  head.pack(raw.data());
  co_return co_await command(core, raw);
}

task<> device::open(cpu& core) {
  co_await core.sync();
  co_await core.acquire(open_lock_);
  std::exception_ptr refused;
  if (!opened_) {
    try {
      co_await bring_up(core);
      opened_ = true;
    } catch (const config_error&) {
      refused = std::current_exception();
    }
  }
  co_await core.sync();
  core.release(open_lock_);
  if (refused) {
    std::rethrow_exception(refused);
  }
}

task<> device::identify(cpu& core) {
  const std::uint64_t word = co_await load(core, bar0::CmdifRevFwSub, 4);
  const auto found = bar0::cmdif_rev_fw_sub_value::unpack(static_cast<std::uint32_t>(word));
  if (found.cmdif_rev != bar0::cmdif_rev_fw_sub_value::unpack(bar0::CmdifRevFwSubReset).cmdif_rev) {
    throw config_error(
        fmt::format("no device answers at BAR0 {:#x}: it reads {:#010x}", where_.bar0, word));
  }
}

task<> device::wait_for_firmware(cpu& core) {
  for (unsigned polls = 0; polls < FirmwarePolls; ++polls) {
    const std::uint64_t word = co_await load(core, bar0::Initializing, 4);
    if (bar0::initializing_value::unpack(static_cast<std::uint32_t>(word)).initializing == 0) {
      co_return;
    }
    if (where_.bar4 != 0) {
      const std::vector<std::uint8_t> image = firmware_image();
      co_await load_firmware(core, where_.bar4, image);
    } else {
      core.idle_until(core.time() + FirmwarePoll);
      co_await core.sync();
    }
  }
  throw config_error(fmt::format("the device at BAR0 {:#x} has no firmware", where_.bar0));
}

task<> device::bring_up(cpu& core) {
  co_await slot_.enumerate(core);
  where_ = slot_.function(function_);
  co_await identify(core);
  co_await wait_for_firmware(core);
  co_await commands_.start(core, where_.bar0);
  co_await command(core, command_opcode::EnableHca, where_.number);
  std::array<std::uint8_t, hca_cap::Size> raw{};
  for (std::uint32_t at = 0; at < hca_cap::Size; at += WordBytes) {
    const std::uint64_t word = co_await load(core, bar0::HcaCap + at, WordBytes);
    bytes::store_be<WordBytes>(raw.data() + at, word);
  }
  capabilities_ = hca_cap::unpack(raw.data());
  // The address is the low 48 bits of the 8 bytes that end with it.
  const std::uint32_t at = bar0::HcaNicVportContext + nic_vport_context::at::PermanentAddress;
  const std::uint64_t high = co_await load(core, at & ~3U, 4);
  const std::uint64_t low = co_await load(core, (at & ~3U) + 4, 4);
  mac_ = (high << 32 | low) & 0xffffffffffff;
  if (capabilities_.icm_pages != 0) {
    // The contexts' memory belongs to the device until it is closed.
    const std::uint64_t base =
        host_.allocate(std::uint64_t{capabilities_.icm_pages} * IcmPageBytes, IcmPageBytes);
    std::array<std::uint8_t, WordBytes> word{};
    bytes::store_be<WordBytes>(word.data(), base);
    core.store_uncached(where_.bar0 + bar0::IcmBase, word);
  }
  co_await command(core, command_opcode::InitHca, 0);

  co_await set_address(core, 0, addresses_[0]);
}

task<> device::set_address(cpu& core, unsigned index, const source_address& entry) {
  set_roce_address_in request;
  request.opcode = command_opcode::SetRoceAddress;
  request.roce_address_index = static_cast<std::uint16_t>(index);
  roce_addr_layout& row = request.roce_address;
  row.source_l3_address = entry.address;
  row.source_mac = mac_;
  row.vlan_valid = entry.vlan.has_value() ? 1 : 0;
  row.vlan_id = entry.vlan.value_or(0);
  row.roce_l3_type = is_ipv4_gid(entry.address) ? L3Ipv4 : L3Ipv6;
  row.roce_version = RoceV2;
  const source_address wanted = entry;
  std::array<std::uint8_t, set_roce_address_in::Size> input{};
  request.pack(input.data());
  co_await command(core, input);
  if (index >= addresses_.size()) {
    addresses_.resize(index + 1);
  }
  addresses_[index] = wanted;
}

task<> device::bind_vector(cpu& core, std::uint16_t vector, unsigned to_core) {
  if (vector >= core.params().nic.msix_vectors) {
    throw config_error(fmt::format("MSI-X vector {}; the function has {}", vector,
                                   core.params().nic.msix_vectors));
  }
  if (vectors_.empty()) {
    co_await slot_.enable_msix(core, function_, true);
  }
  interrupt_line& line = host_.bind_interrupt(to_core);
  const std::uint64_t entry =
      where_.bar0 + bar0::MsixTable + std::uint64_t{vector} * MsixEntryBytes;
  // The table is little-endian. Unmasked, with a vector control of 0, it is by the second store.
  std::array<std::uint8_t, WordBytes> word{};
  bytes::store_be<WordBytes>(word.data(), line.address());
  std::reverse(word.begin(), word.end());
  core.store_uncached(entry, word);
  bytes::store_be<WordBytes>(word.data(), line.data());
  std::reverse(word.begin(), word.end());
  core.store_uncached(entry + MsixDataOffset, word);
  core.fence();
  co_await core.sync();
  put(vectors_, vector, &line);
}

task<std::uint32_t> device::alloc_pd(cpu& core) {
  const command_reply reply = co_await command(core, command_opcode::AllocPd, 0);
  co_return reply.number;
}

task<uar_handle*> device::alloc_uar(cpu& core) {
  const command_reply reply = co_await command(core, command_opcode::AllocUar, 0);
  auto& page = uars_.emplace_back(std::make_unique<uar_handle>());
  page->number = reply.number;
  page->address = where_.bar2 + std::uint64_t{reply.number} * UarPageBytes;
  co_return page.get();
}

task<uar_handle*> device::try_alloc_uar(cpu& core) {
  uar_handle* page = nullptr;
  try {
    page = co_await alloc_uar(core);
  } catch (const command_refused& refused) {
    if (refused.status != command_status::NoResources) {
      throw;
    }
  }
  co_return page;
}

task<memory_region> device::register_memory(cpu& core, std::uint32_t pd, std::uint64_t address,
                                            std::uint64_t length, memory_access_rights rights,
                                            std::uint8_t variant, std::uint32_t qpn) {
  create_mkey_in request;
  request.opcode = command_opcode::CreateMkey;
  mkc& key = request.memory_key_mkey_entry;
  key = key_context(pd, address, length, rights, variant, qpn);
  key.access_mode_1_0 = mkey_access_mode::Physical;
  std::array<std::uint8_t, create_mkey_in::Size> input{};
  request.pack(input.data());
  const command_reply reply = co_await command(core, input);
  if (page_faults* paging = host_.bus.paging()) {
    paging->registered(address, length);
  }
  co_return memory_region{address, length, make_key(reply.number, variant)};
}

task<memory_region> device::register_pages(cpu& core, std::uint32_t pd, const page_list& pages,
                                           std::uint64_t length, memory_access_rights rights,
                                           std::uint8_t variant, std::uint32_t qpn) {
  constexpr std::size_t EntryBytes = 8;
  constexpr std::size_t EntriesPerUnit = SegmentBytes / EntryBytes;
  constexpr std::size_t Most = (MostCommandBytes - create_mkey_in::Size) / EntryBytes;
  const std::size_t count = pages.pages_for(length);
  if (count > pages.pages.size() || count > Most) {
    throw config_error(fmt::format(
        "a memory region of {} pages of 2^{} bytes; its list has {}, a command up to {}", count,
        pages.log_page_size, pages.pages.size(), Most));
  }
  const std::size_t units = (count + EntriesPerUnit - 1) / EntriesPerUnit;
  create_mkey_in request;
  request.opcode = command_opcode::CreateMkey;
  request.translations_octword_actual_size = static_cast<std::uint32_t>(units);
  mkc& key = request.memory_key_mkey_entry;
  key = key_context(pd, pages.start, length, rights, variant, qpn);
  key.access_mode_1_0 = mkey_access_mode::Mtt;
  key.log_page_size = static_cast<std::uint8_t>(pages.log_page_size);
  key.translations_octword_size = static_cast<std::uint32_t>(units);
  std::vector<std::uint8_t> input(create_mkey_in::Size + units * SegmentBytes);
  request.pack(input.data());
  for (std::size_t i = 0; i < count; ++i) {
    // The key says who may write; its pages permit both.
    bytes::store_be<EntryBytes>(input.data() + create_mkey_in::Size + i * EntryBytes,
                                pages.pages[i] | MttReadEnable | MttWriteEnable);
  }
  const std::uint64_t start = pages.start;
  const command_reply reply = co_await command(core, input);
  if (page_faults* paging = host_.bus.paging()) {
    for (const std::uint64_t page : pages.pages) {
      paging->registered(page, std::uint64_t{1} << pages.log_page_size);
    }
  }
  if (observer_ != nullptr) {
    observer_->on_register(pages, length);
  }
  co_return memory_region{start, length, make_key(reply.number, variant)};
}

task<> device::deregister_memory(cpu& core, memory_region region) {
  co_await command(core, command_opcode::DestroyMkey, region.index());
}

}  // namespace carillon
