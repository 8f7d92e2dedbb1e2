// Megatron-LM's indexed datasets (megatron/core/datasets/indexed_dataset.py), version 1 of the index:
//   9 bytes `MMIDIDX\0\0`, uint64 version, uint8 type code, uint64 sequences S, uint64 borders D,
//   int32 lengths[S] (ids), int64 pointers[S] (bytes into the .bin), int64 documents[D] (sequence numbers; the last is
//   S).
#include <array>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "trireme/base/error.hpp"

#include "data/input_file.hpp"
#include "data/prepare/ids_input.hpp"

namespace trireme::data {
namespace {

constexpr std::uint64_t header_bytes = 34;

template <class T>
T value_at(const io::File& file, std::uint64_t offset) {
  T value;
  file.read_at(offset, &value, sizeof(T));
  return value;
}

template <class T>
std::vector<T> values_at(const io::File& file, std::uint64_t offset, std::int64_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  file.read_at(offset, values.data(), values.size() * sizeof(T));
  return values;
}

class MegatronInput final : public IdsInput {
 public:
  explicit MegatronInput(const std::string& prefix)
      : ids_(open_input(prefix + ".bin")), index_(open_input(prefix + ".idx")) {
    read_header();
    check_sizes();
  }

  [[nodiscard]] const std::string& path() const override { return ids_.path(); }
  [[nodiscard]] IdType type() const override { return type_; }
  [[nodiscard]] std::int64_t num_ids() const override { return static_cast<std::int64_t>(ids_.size()) / type_.bytes; }

  [[nodiscard]] std::string read(Range range) const override {
    std::string bytes(static_cast<std::size_t>((range.end - range.begin) * type_.bytes), '\0');
    ids_.read_at(static_cast<std::uint64_t>(range.begin * type_.bytes), bytes.data(), bytes.size());
    return bytes;
  }

  [[nodiscard]] std::vector<std::int64_t> document_starts(Range range) const override;

 private:
  void read_header();
  void check_sizes() const;
  [[nodiscard]] std::int64_t pointer(std::int64_t sequence) const;
  [[nodiscard]] std::int64_t first_sequence_of(std::int64_t document) const;
  void check_contiguous(Range sequences) const;
  [[noreturn]] void refuse(const std::string& what) const;

  io::File ids_;
  io::File index_;
  IdType type_;
  std::int64_t num_sequences_ = 0;
  std::int64_t num_borders_ = 0;
  std::uint64_t pointers_ = 0;   ///< offset of the array in the index
  std::uint64_t documents_ = 0;  ///< likewise
};

void MegatronInput::refuse(const std::string& what) const {
  throw InputError(
      fmt::format("`{}` {} make both files anew with Megatron's `preprocess_data.py`", index_.path(), what));
}

void MegatronInput::read_header() {
  static const std::map<int, IdType> types{{1, {1, false}}, {2, {1, true}}, {3, {2, true}},
                                           {4, {4, true}},  {5, {8, true}}, {8, {2, false}}};
  constexpr std::string_view magic("MMIDIDX\0\0", 9);
  std::string start(magic.size(), '\0');
  if (index_.size() < header_bytes) refuse(fmt::format("is no index (it has {} bytes)", index_.size()));
  index_.read_at(0, start.data(), start.size());
  if (start != magic) refuse("is no index (it does not begin with `MMIDIDX`)");
  if (const auto version = value_at<std::uint64_t>(index_, 9); version != 1) {
    refuse(fmt::format("is an index of version {} (known is 1)", version));
  }
  const int code = value_at<std::uint8_t>(index_, 17);
  if (!types.contains(code))
    refuse(fmt::format("has the type code `{}` (legal are the integers 1, 2, 3, 4, 5, 8)", code));
  type_ = types.at(code);
  const auto sequences = value_at<std::uint64_t>(index_, 18);
  const auto borders = value_at<std::uint64_t>(index_, 26);
  const std::uint64_t most = index_.size() / 8;
  if (sequences > most || borders > most || header_bytes + 12 * sequences + 8 * borders != index_.size()) {
    refuse(fmt::format("has {} bytes (not those of the {} sequences and {} borders that its header says)",
                       index_.size(), sequences, borders));
  }
  num_sequences_ = static_cast<std::int64_t>(sequences);
  num_borders_ = static_cast<std::int64_t>(borders);
  pointers_ = header_bytes + 4 * sequences;
  documents_ = pointers_ + 8 * sequences;
}

void MegatronInput::check_sizes() const {
  const auto bytes = static_cast<std::int64_t>(ids_.size());
  std::int64_t end = 0;
  if (num_sequences_ > 0) {
    const auto last = static_cast<std::uint64_t>(num_sequences_ - 1);
    const std::int64_t length = value_at<std::int32_t>(index_, header_bytes + 4 * last);
    if (__builtin_add_overflow(pointer(num_sequences_ - 1), length * type_.bytes, &end)) end = -1;
  }
  if (end != bytes) {
    refuse(fmt::format("ends at byte {} of `{}`, which has {} (cut short, or another file's index)", end, ids_.path(),
                       bytes));
  }
  if (num_borders_ > 0 && first_sequence_of(0) != 0) {
    refuse(fmt::format("says that document 0 begins with sequence {} (must be 0)", first_sequence_of(0)));
  }
}

std::int64_t MegatronInput::pointer(std::int64_t sequence) const {
  return value_at<std::int64_t>(index_, pointers_ + 8 * static_cast<std::uint64_t>(sequence));
}

std::int64_t MegatronInput::first_sequence_of(std::int64_t document) const {
  return value_at<std::int64_t>(index_, documents_ + 8 * static_cast<std::uint64_t>(document));
}

/// The first number in [0, count) for which `reached` holds; it must hold for all after it.
template <class Reached>
std::int64_t first_where(std::int64_t count, const Reached& reached) {
  std::int64_t low = 0;
  std::int64_t high = count;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (reached(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/// The ids are read as one row, so each sequence must begin where the one before ends.
void MegatronInput::check_contiguous(Range sequences) const {
  const std::int64_t first = std::max<std::int64_t>(0, sequences.begin - 1);
  const std::int64_t count = sequences.end - first;
  const auto lengths = values_at<std::int32_t>(index_, header_bytes + 4 * static_cast<std::uint64_t>(first), count);
  const auto pointers = values_at<std::int64_t>(index_, pointers_ + 8 * static_cast<std::uint64_t>(first), count);
  if (first == 0 && count > 0 && pointers[0] != 0) refuse(fmt::format("begins at byte {} (must be 0)", pointers[0]));
  for (std::size_t i = 0; i + 1 < pointers.size(); ++i) {
    if (lengths[i] < 0 || pointers[i] > static_cast<std::int64_t>(ids_.size()) ||
        pointers[i + 1] != pointers[i] + lengths[i] * type_.bytes) {
      refuse(fmt::format("is not contiguous (sequence {} of {} ids at byte {} is followed by one at byte {})",
                         first + static_cast<std::int64_t>(i), lengths[i], pointers[i], pointers[i + 1]));
    }
  }
}

std::vector<std::int64_t> MegatronInput::document_starts(Range range) const {
  const auto sequence_at = [&](std::int64_t id) {
    return first_where(num_sequences_, [&](std::int64_t s) { return pointer(s) >= id * type_.bytes; });
  };
  const Range sequences{sequence_at(range.begin), sequence_at(range.end)};
  check_contiguous(sequences);
  std::int64_t document =
      first_where(num_borders_, [&](std::int64_t d) { return first_sequence_of(d) >= sequences.begin; });
  std::vector<std::int64_t> starts;
  std::int64_t before = sequences.begin;
  for (; document < num_borders_; ++document) {
    const std::int64_t sequence = first_sequence_of(document);
    if (sequence < before || sequence > num_sequences_) {
      refuse(fmt::format("says that document {} begins with sequence {} (after {}, of {})", document, sequence, before,
                         num_sequences_));
    }
    if (sequence >= sequences.end) break;
    before = sequence;
    const std::int64_t start = pointer(sequence) / type_.bytes;
    if (starts.empty() || starts.back() != start) starts.push_back(start);  // empty documents leave no trace
  }
  return starts;
}

bool take_away_suffix(std::string& path, std::string_view suffix) {
  if (!path.ends_with(suffix)) return false;
  path.resize(path.size() - suffix.size());
  return true;
}

}  // namespace

std::unique_ptr<IdsInput> open_megatron(const std::string& path) {
  std::string prefix = path;
  if (!take_away_suffix(prefix, ".bin")) take_away_suffix(prefix, ".idx");
  return std::make_unique<MegatronInput>(prefix);
}

}  // namespace trireme::data
