#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "trireme/data/prepare.hpp"

#include "data/prepare/ids_input.hpp"
#include "data/prepare/piece.hpp"

namespace trireme::data {

/// Files of ready ids as pieces of int32. Ids outside of [0, vocab) are refused as they are read.
class IdsCorpus final : public Corpus {
 public:
  /// options.vocab 0: any id that an int32 holds.
  explicit IdsCorpus(const PrepareOptions& options);

  [[nodiscard]] std::int64_t num_pieces() const override { return num_pieces_; }
  [[nodiscard]] Piece read(std::int64_t piece) const override;
  [[nodiscard]] std::int64_t num_bytes() const override;

 private:
  void add_ids(const Segment& segment, Piece& piece) const;

  std::vector<std::unique_ptr<IdsInput>> inputs_;
  std::vector<std::int64_t> firsts_;  ///< where each input begins, in ids, and the end
  std::int64_t vocab_;
  Range range_;
  std::int64_t piece_ids_ = 0;
  std::int64_t num_pieces_ = 0;
};

}  // namespace trireme::data
