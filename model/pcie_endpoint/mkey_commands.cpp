// The commands about memory keys. A key is contiguous (access mode PA: a virtual address is the
// IOVA) or has a list of pages (MTT), whose entries fill whole lines of the translation table.
#include "gen/bytes.h"
#include "pcie_endpoint/commands.h"

namespace carillon {

namespace {

constexpr std::size_t EntryBytes = 8;
constexpr std::uint64_t EntriesAnOctword = 2;
constexpr std::uint32_t LineEntries = mtt_line::Size / EntryBytes;
/// Pages of 4 KiB at least, since the low bits of an entry are its access bits, and of 2 GiB at
/// most, which no host exceeds.
constexpr unsigned MinLogPage = LogPageBase;
constexpr unsigned MaxLogPage = 31;

bool options_of_others(const create_mkey_in& in) {
  const mkc& key = in.memory_key_mkey_entry;
  return in.pg_access != 0 || in.mkey_umem_valid != 0  // pages on demand, user memory objects
         || key.umr_en != 0 || key.sync_umr != 0       // changes by work requests
         || key.en_rinval != 0                         // memory windows
         || key.bsf_en != 0 || key.bsf_octword_size != 0 || key.expected_sigerr_count != 0;
}

std::uint64_t pages_of(const mkc& key) {
  const std::uint64_t page = std::uint64_t{1} << key.log_page_size;
  const std::uint64_t in_page = key.start_addr & (page - 1);
  return (in_page + key.len - 1) / page + 1;
}

}  // namespace

command_core::failure command_core::check_mkey(const create_mkey_in& in) const {
  const mkc& key = in.memory_key_mkey_entry;
  if (owned(tables_.pds, key.pd) == nullptr) {
    return fail(command_status::BadResource, command_syndrome::NoPd);
  }
  if (key.qpn != MkeyAnyQp && owned(tables_.qps, key.qpn) == nullptr) {
    return fail(command_status::BadResource, command_syndrome::NoQp);
  }
  if (options_of_others(in)) {
    return fail(command_status::BadParameter, command_syndrome::Option);
  }
  const bool paged = key.access_mode_1_0 == mkey_access_mode::Mtt;
  if (key.access_mode_4_2 != 0 || key.ma_translation_mode != 0 ||
      (!paged && key.access_mode_1_0 != mkey_access_mode::Physical)) {
    return fail(command_status::BadParameter, command_syndrome::AccessMode);
  }
  if (key.free != 0) {
    return std::nullopt;  // what it would allow does not matter: nothing can make it valid
  }
  // No page list covers the whole address space.
  if (key.length64 != 0 ? paged : key.len == 0 || key.start_addr + key.len < key.start_addr) {
    return fail(command_status::BadParameter, command_syndrome::Range);
  }
  return std::nullopt;
}

/// `pages`: entries that the region needs; those that follow them in the command are ignored.
command_core::failure command_core::check_pages(const create_mkey_in& in, command_input input,
                                                std::uint64_t& pages) const {
  const mkc& key = in.memory_key_mkey_entry;
  if (key.log_page_size < MinLogPage || key.log_page_size > MaxLogPage) {
    return fail(command_status::BadParameter, command_syndrome::PageSize);
  }
  const std::uint64_t given = in.translations_octword_actual_size * EntriesAnOctword;
  if (input.size() < create_mkey_in::Size + given * EntryBytes) {
    return fail(command_status::BadInputLength, command_syndrome::InputLength);
  }
  pages = pages_of(key);
  if (pages > given) {
    return fail(command_status::BadParameter, command_syndrome::Translation);
  }
  const std::uint64_t in_page = (std::uint64_t{1} << key.log_page_size) - 1;
  constexpr std::uint64_t AccessBits = MttReadEnable | MttWriteEnable;
  for (std::uint64_t i = 0; i < pages; ++i) {
    const auto entry = bytes::load_be<8>(input.data() + create_mkey_in::Size + i * EntryBytes);
    if ((entry & in_page & ~AccessBits) != 0) {
      return fail(command_status::BadParameter, command_syndrome::Translation);
    }
  }
  return std::nullopt;
}

command_result command_core::create_mkey(command_input input, std::uint8_t* output) {
  if (input.size() < create_mkey_in::Size) {
    return fail(command_status::BadInputLength, command_syndrome::InputLength);
  }
  const create_mkey_in in = create_mkey_in::unpack(input.data());
  const mkc& wanted = in.memory_key_mkey_entry;
  if (const failure refused = check_mkey(in)) {
    return *refused;
  }
  const bool paged = wanted.access_mode_1_0 == mkey_access_mode::Mtt && wanted.free == 0;
  std::uint64_t pages = 0;
  if (paged) {
    if (const failure refused = check_pages(in, input, pages)) {
      return *refused;
    }
  }
  mkey_record key{.function = caller_, .context = wanted};
  key.lines = static_cast<std::uint32_t>((pages + LineEntries - 1) / LineEntries);
  if (paged) {
    const auto first = mine().numbers[table_kind::mtt_lines].take_run(key.lines);
    if (!first) {
      return full();
    }
    key.first_line = *first;
  }
  const std::uint32_t index = mine().numbers[table_kind::mkeys].take();
  if (index == 0) {
    mine().numbers[table_kind::mtt_lines].give_back(key.first_line, key.lines);
    return full();
  }
  for (std::uint32_t i = 0; i < key.lines; ++i) {
    context_write& write = effects_.lines.emplace_back();
    write.kind = context_kind::mtt;
    write.index = key.first_line + i;
    for (std::uint64_t entry = 0; entry < LineEntries && i * LineEntries + entry < pages; ++entry) {
      const std::uint64_t at = create_mkey_in::Size + (i * LineEntries + entry) * EntryBytes;
      bytes::store_be<8>(write.data.data() + entry * EntryBytes,
                         bytes::load_be<8>(input.data() + at));
    }
  }
  mkey_line line;
  line.valid = wanted.free == 0 ? 1 : 0;
  line.length64 = wanted.length64;
  line.contiguous = wanted.access_mode_1_0 == mkey_access_mode::Physical ? 1 : 0;
  line.lr = wanted.lr;
  line.lw = wanted.lw;
  line.rr = wanted.rr;
  line.rw = wanted.rw;
  line.a = wanted.a;
  line.variant = wanted.mkey_7_0;
  line.function_id = caller_;
  line.log_page_size = paged ? wanted.log_page_size : 0;
  line.pd = wanted.pd;
  line.qpn = wanted.qpn;
  // The whole address space begins at 0, whatever the command says.
  line.start_addr = wanted.length64 != 0 ? 0 : wanted.start_addr;
  line.len = wanted.len;
  // In physical mode the virtual address is the IOVA.
  line.phys_base = line.contiguous != 0 ? line.start_addr : 0;
  line.mtt_base = key.first_line * LineEntries;
  // The pages first: who finds the key valid finds them too.
  write_line(context_kind::mkey, index, line);
  ++tables_.pds.at(wanted.pd).users;
  tables_.mkeys.emplace(index, key);
  return created(index, output);
}

/// The number is the index, as CREATE_MKEY returned it.
command_result command_core::destroy_mkey(std::uint32_t number) {
  const mkey_record* key = owned(tables_.mkeys, number);
  if (key == nullptr) {
    return fail(command_status::BadResource, command_syndrome::NoMkey);
  }
  --tables_.pds.at(key->context.pd).users;
  write_line(context_kind::mkey, number, mkey_line{});
  mine().numbers[table_kind::mtt_lines].give_back(key->first_line, key->lines);
  tables_.mkeys.erase(number);
  mine().numbers[table_kind::mkeys].give_back(number);
  return done();
}

command_result command_core::query_mkey(std::uint32_t number, std::uint8_t* output) {
  const mkey_record* key = owned(tables_.mkeys, number);
  if (key == nullptr) {
    return fail(command_status::BadResource, command_syndrome::NoMkey);
  }
  query_mkey_out answer;
  answer.memory_key_mkey_entry = key->context;
  answer.pack(output);
  return {.output_bytes = query_mkey_out::Size};
}

}  // namespace carillon
