// Parts of a dataset in files of their own, so that ranks share the work and an interrupted `prepare` can go on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/base/dtype.hpp"
#include "trireme/io/hash.hpp"
#include "trireme/text/tokenizer.hpp"

#include "data/prepare/piece.hpp"

namespace trireme::data {

/// Tokens as the dataset stores them, and the tokens of this part with which documents begin.
struct Part {
  std::int64_t num_tokens = 0;
  std::string tokens;
  std::vector<std::int64_t> documents;
};

struct PartCounts {
  std::int64_t tokens = 0;
  std::int64_t documents = 0;
};

/// Text becomes tokens of type `dtype`.
[[nodiscard]] Part tokenize(const Piece& piece, const text::Tokenizer& tokenizer, Dtype dtype);

/// Ready ids (int32) become tokens of type `dtype`.
[[nodiscard]] Part narrow_ids(const Piece& piece, Dtype dtype);

/// Writes atomically. `origin` names what the part was made of.
void write_part(const std::string& path, const Part& part, const io::Hash128& origin);

/// True if the file is there, whole, and made of `origin`.
[[nodiscard]] bool is_part(const std::string& path, const io::Hash128& origin);

/// Throws InputError when the file is damaged.
[[nodiscard]] Part read_part(const std::string& path);
[[nodiscard]] PartCounts read_part_counts(const std::string& path);

}  // namespace trireme::data
