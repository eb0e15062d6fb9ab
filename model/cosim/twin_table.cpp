// The port table of every twin. A new twin needs an entry here, <stage>_block.cpp, and beat_codec<>
// for item types that no other twin has.
#include "cosim/packet_builder_beats.h"
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

template <class Query, class Answer>
twin_lookup_desc lookup(const char* name, decltype(twin_lookup_desc::answer) answer) {
  return {name, Query::Words, Answer::Words, answer};
}

const std::vector<twin_desc>& twins() {
  static const std::vector<twin_desc> Table = {
      {"packet_builder",
       {in<context_line>("ctx_line"), in<packet_item, filled_packet_codec>("filled"),
        in<packet_item, direct_packet_codec>("direct"), out<context_read>("ctx_read"),
        out<frame_item, built_frame_codec>("frame"),
        out<frame_item, built_frame_codec>("loopback")},
       {lookup<vport_query, vport_view>("vport", answer_vport),
        lookup<vport_source_query, vport_source>("source", answer_vport_source),
        lookup<vport_route_query, vport_route>("route", answer_vport_route)}},
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
