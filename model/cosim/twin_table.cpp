// The port table of every twin. A new twin needs an entry here, <stage>_block.cpp, and beat_codec<>
// for item types that no other twin has.
#include "cosim/payload_dma_beats.h"
#include "cosim/twin_port.h"

namespace carillon {

namespace {

template <class T, class Codec>
std::unique_ptr<twin_port> make_port(stream_base& stream, bool input, buffer_pool& buffers) {
  return std::make_unique<typed_port<T, Codec>>(stream, input, buffers);
}

template <class T, class Codec = beat_codec<T>>
twin_port_desc in(const char* name) {
  return {name, true, &make_port<T, Codec>};
}

template <class T, class Codec = beat_codec<T>>
twin_port_desc out(const char* name) {
  return {name, false, &make_port<T, Codec>};
}

const std::vector<twin_desc>& twins() {
  static const std::vector<twin_desc> Table = {
      {"payload_dma",
       {in<packet_item, packet_grant_codec>("packets"), out<dma_read, payload_read_codec>("reads"),
        in<dma_read_done, payload_answer_codec>("done"),
        out<packet_item, payload_beat_codec>("filled"),
        out<payload_left, payload_note_codec>("left"), out<context_read>("key_reads"),
        in<context_line>("key_lines")}},
      {"wqe_parser",
       {in<wqe_item>("wqe"), out<context_read>("ctx_read"), in<context_line>("ctx_line"),
        out<context_read>("mkey_read"), in<context_line>("mkey_line"), out<work_item>("work")}},
  };
  return Table;
}

}  // namespace

const twin_desc* find_twin(std::string_view stage) {
  for (const twin_desc& each : twins()) {
    if (stage == each.stage) {
      return &each;
    }
  }
  return nullptr;
}

}  // namespace carillon
