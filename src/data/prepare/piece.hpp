// The inputs of `prepare` are cut into pieces, whatever the number of ranks; each becomes a part of the dataset.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace trireme::data {

/// A piece of the inputs: text without its separators, or ids as int32.
struct Piece {
  std::string bytes;
  std::vector<std::int64_t> documents;  ///< offsets into bytes at which documents begin, ascending
};

/// The inputs as a row of pieces. Reading is a pure function of the number: any rank may read any piece.
class Corpus {
 public:
  virtual ~Corpus() = default;
  [[nodiscard]] virtual std::int64_t num_pieces() const = 0;
  /// Throws InputError naming file, position and value.
  [[nodiscard]] virtual Piece read(std::int64_t piece) const = 0;
  /// Bytes of the inputs that are taken.
  [[nodiscard]] virtual std::int64_t num_bytes() const = 0;
};

/// A range [begin, end) of the inputs.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Where `fraction` of `total` ends, in whole billionths: 0.95 and 0.9 + 0.05 cut at the same place.
[[nodiscard]] std::int64_t place_of_fraction(double fraction, std::int64_t total);

/// The part of file `file` that lies in a range of the files' concatenation.
struct Segment {
  std::size_t file = 0;
  Range range;
};

/// Files laid end to end: firsts[f] is where file f begins, firsts.back() the total.
[[nodiscard]] std::vector<Segment> segments_of(const std::vector<std::int64_t>& firsts, Range range);

}  // namespace trireme::data
