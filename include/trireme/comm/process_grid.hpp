// The ranks of a run on their grid data x tensor x pipeline.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/comm/grid_shape.hpp"

namespace trireme::comm {

/// Places the world's ranks on the grid (tensor fastest, then data, pipeline slowest) and makes one communicator per
/// axis. Collective over world.
class ProcessGrid {
 public:
  ProcessGrid(Communicator& world, const GridShape& shape);
  /// The same for a planned communicator (make_planned_communicator): every rank counts as on one host.
  struct Planned {};
  ProcessGrid(Communicator& planned_world, const GridShape& shape, Planned);

  [[nodiscard]] const GridShape& shape() const noexcept { return shape_; }
  [[nodiscard]] int size(Axis axis) const { return shape_[axis]; }
  /// This rank's coordinate along the axis; it is also its rank in along(axis).
  [[nodiscard]] int coordinate(Axis axis) const { return coordinates_[axis]; }
  [[nodiscard]] Communicator& world() const noexcept { return world_; }
  [[nodiscard]] Communicator& along(Axis axis) const;
  [[nodiscard]] int num_hosts() const noexcept { return num_hosts_; }
  [[nodiscard]] const std::vector<std::string>& hosts() const noexcept { return hosts_; }  ///< by world rank

  /// Lines for the start of a run, the same on every rank: grid; hosts and ranks per host; a warning when a tensor
  /// group leaves its host.
  [[nodiscard]] std::string description() const;

 private:
  void make_axes();
  [[nodiscard]] std::string hosts_line() const;
  [[nodiscard]] int num_torn_tensor_groups() const;

  Communicator& world_;
  GridShape shape_;
  GridShape coordinates_;
  std::vector<std::unique_ptr<Communicator>> axes_;
  std::vector<std::string> hosts_;
  std::vector<std::int32_t> host_leaders_;  // by world rank: the lowest rank on its host
  int num_hosts_ = 1;
};

}  // namespace trireme::comm
