extension Position {
  /// The distance between levels at an open end. It leaves room for 12 halvings before a level must be added.
  private static let step = 4096

  /// Returns new positions between two neighbours, in order.
  ///
  /// - Parameters:
  ///   - left: The position before the new ones, or `nil` at the beginning.
  ///   - right: The position after the new ones, or `nil` at the end.
  ///   - count: The number of positions.
  ///   - continuesRun: Whether `left` is the latest position that the store made. The new positions then continue its
  ///     run, so that documents which are inserted one after the other stay together.
  ///   - generator: The source of the name of a new run.
  public static func between(
    _ left: Position?, _ right: Position?, count: Int, continuesRun: Bool, using generator: SeededGenerator
  ) -> [Position] {
    var right = right
    if let left, let bound = right, left >= bound {
      right = nil
    }
    if continuesRun, let left {
      let run = left.continued(count: count)
      guard let bound = right, let last = run.last, last >= bound else {
        return run
      }
    }
    return newRun(between: left, right, count: count, tag: { UInt32(generator.next() >> 40) })
  }

  /// Returns the next positions of the run that this position belongs to.
  private func continued(count: Int) -> [Position] {
    let levels = levels
    guard let last = levels.last else {
      preconditionFailure("A position has at least one level.")
    }
    return (1...count).map {
      Position(levels: levels.dropLast() + [Level(number: last.number, tag: last.tag, count: last.count + $0)])
    }
  }

  /// Returns the positions of a new run at the topmost level that has room.
  private static func newRun(
    between left: Position?, _ right: Position?, count: Int, tag: () -> UInt32
  ) -> [Position] {
    var lower = (left?.levels ?? [])[...]
    var upper = (right?.levels ?? [])[...]
    var head: [Level] = []
    while let low = lower.first, let high = upper.first, low == high || high.number - low.number < 2 {
      // Below a level that is less than its counterpart on the right, everything is before the right neighbour.
      upper = low == high ? upper.dropFirst() : []
      head.append(low)
      lower = lower.dropFirst()
    }
    let number =
      switch (lower.first?.number, upper.first?.number) {
      case (let low?, let high?): (low + high) >> 1
      case (let low?, nil): low + step
      case (nil, let high?): high - step
      case (nil, nil): 0
      }
    let tag = tag()
    return (0..<count).map { Position(levels: head + [Level(number: number, tag: tag, count: $0)]) }
  }
}
