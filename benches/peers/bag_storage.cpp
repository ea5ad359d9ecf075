// What a program does with a bag, by ROS's C++ library (Debian's librosbag-storage-dev):
// bag_storage info|read|topic BAG [TOPIC]
//
// It gives messages in the order of time.

#include <rosbag/bag.h>
#include <rosbag/view.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

// Reads a message as the bytes that it is.
struct Bytes {
  std::vector<uint8_t> data;
};

namespace ros {
namespace message_traits {
template <> struct MD5Sum<Bytes> {
  static const char *value() { return "*"; }
  static const char *value(const Bytes &) { return "*"; }
};
template <> struct DataType<Bytes> {
  static const char *value() { return "*"; }
  static const char *value(const Bytes &) { return "*"; }
};
} // namespace message_traits
namespace serialization {
template <> struct Serializer<Bytes> {
  template <typename Stream> inline static void read(Stream &stream, Bytes &bytes) {
    uint32_t size = stream.getLength();
    bytes.data.resize(size);
    std::memcpy(bytes.data.data(), stream.advance(size), size);
  }
};
} // namespace serialization
} // namespace ros

static uint64_t touch(const std::vector<uint8_t> &bytes) {
  uint64_t sum = 0, word;
  size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    std::memcpy(&word, bytes.data() + at, 8);
    sum += word;
  }
  for (; at < bytes.size(); at++)
    sum += bytes[at];
  return sum;
}

int main(int argc, char **argv) {
  if (argc < 3)
    return 2;
  std::string job = argv[1];
  rosbag::Bag bag(argv[2], rosbag::bagmode::Read);
  rosbag::View view;
  if (argc > 3)
    view.addQuery(bag, rosbag::TopicQuery(argv[3]));
  else
    view.addQuery(bag);
  if (job == "info") {
    std::printf("%u messages, %f\n", view.size(), view.getBeginTime().toSec());
    return 0;
  }
  uint64_t count = 0, sum = 0;
  Bytes bytes;
  for (const rosbag::MessageInstance &message : view) {
    bytes.data.resize(message.size());
    ros::serialization::OStream stream(bytes.data.data(), bytes.data.size());
    message.write(stream);
    sum += touch(bytes.data);
    count++;
  }
  std::printf("%lu messages, sum %lx\n", count, sum);
}
