internal import CofferDocuments

/// The SQL statements by subject. Values are always bound, and statements that read rows list their columns.
package enum SQL {
  // MARK: Trees

  /// The trees of pages whose rows are walked, as the source of a SELECT.
  package enum Tree: String {
    case header = "coffer_header"
    case state = "coffer_state"
    case slots = "coffer_slot"
    case collections = "coffer_collection"
    case documents = "coffer_record NOT INDEXED"
    /// The position index, which is the only index of all documents.
    case order = "coffer_record INDEXED BY coffer_record_pos"
    case bodies = "coffer_body"
    case attachments = "coffer_attachment NOT INDEXED"
    case chunks = "coffer_chunk"
  }

  /// Counts the entries in the position index, which is the only index of all rows. SQLite counts them by page,
  /// regardless of their number.
  package static let documentCount = "SELECT count(*) FROM coffer_record"

  /// Returns a statement that counts a tree's rows up to a limit. Without a limit, a malicious file could be counted
  /// almost forever, because any number of its pages can lead to the same page.
  package static func count(of tree: Tree, limit: String = "?") -> String {
    "SELECT count(*) FROM (SELECT 1 FROM \(tree.rawValue) LIMIT \(limit))"
  }

  // MARK: Header, slots, state

  // A table with one row is read up to the second row, for the same reason.
  static let features = "SELECT incompat FROM coffer_header LIMIT 2"
  package static let header =
    "SELECT format,store_id,incompat,ro_compat,compat,titles,rk_generation,phase,rk_commit,keyring,mac FROM coffer_header LIMIT 2"
  package static let headerMark =
    "SELECT h.rk_generation,h.phase,h.rk_commit,h.mac,s.sealed FROM coffer_header h,coffer_state s"
  package static let insertHeader = "INSERT INTO coffer_header VALUES(1,?,?,?,?,?,?,?,?,?,?,?)"
  package static let updateHeader =
    "UPDATE coffer_header SET incompat=?,compat=?,titles=?,rk_generation=?,phase=?,rk_commit=?,keyring=?,mac=? WHERE one=1"
  package static let deleteHeader = "DELETE FROM coffer_header"
  package static let spare = "SELECT copy FROM coffer_spare LIMIT 2"
  package static let deleteSpare = "DELETE FROM coffer_spare"
  package static let insertSpare = "INSERT INTO coffer_spare VALUES(1,?)"
  package static let slots = "SELECT slot,kind,label,params,wrapped FROM coffer_slot ORDER BY slot LIMIT 65"
  package static let deleteSlots = "DELETE FROM coffer_slot"
  package static let insertSlot = "INSERT INTO coffer_slot VALUES(?,?,?,?,?)"
  package static let rowCounts =
    "SELECT (\(count(of: .header, limit: "2"))),(\(count(of: .state, limit: "2"))),(\(count(of: .slots, limit: "65")))"
  package static let state = "SELECT sealed FROM coffer_state LIMIT 2"
  package static let insertState = "INSERT INTO coffer_state VALUES(1,?)"
  package static let updateState = "UPDATE coffer_state SET sealed=? WHERE one=1"

  package static let replicas = "SELECT sealed FROM coffer_replica LIMIT 2"
  package static let isRestored = "SELECT restored FROM coffer_replica"
  package static let markRestored = "UPDATE coffer_replica SET restored=1"
  package static let insertReplicas = "INSERT INTO coffer_replica VALUES(1,0,?)"
  package static let updateReplicas = "UPDATE coffer_replica SET restored=0,sealed=? WHERE one=1"

  // MARK: Collections and deletions

  package static let collections = "SELECT coll,rev,sealed FROM coffer_collection ORDER BY coll"
  package static let insertCollection = "INSERT INTO coffer_collection VALUES(?,?,?)"
  package static let updateCollection = "UPDATE coffer_collection SET rev=?,sealed=? WHERE coll=?"
  package static let deletions = "SELECT gone,rev,sealed FROM coffer_gone WHERE gone>=? ORDER BY gone LIMIT ?"
  package static let deletionsSince = "SELECT gone,rev,sealed FROM coffer_gone WHERE rev>? ORDER BY gone"
  package static let highestDeletion = "SELECT max(gone) FROM coffer_gone"
  package static let insertDeletion = "INSERT INTO coffer_gone VALUES(?,?,?)"
  package static let updateDeletion = "UPDATE coffer_gone SET rev=?,sealed=? WHERE gone=?"
  package static let deleteDeletion = "DELETE FROM coffer_gone WHERE gone=?"
  package static let documentsPerCollection = "SELECT coll,count(*) FROM coffer_record GROUP BY coll ORDER BY coll"
  /// Finds a collection that has rows in the position index, but no row itself. Seeks once for each collection.
  package static let unknownCollection = """
    WITH RECURSIVE listed(coll) AS (
      SELECT min(coll) FROM coffer_record
      UNION
      SELECT (SELECT min(coll) FROM coffer_record WHERE coll>listed.coll) FROM listed WHERE listed.coll IS NOT NULL)
    SELECT coll FROM listed WHERE coll IS NOT NULL AND coll NOT IN (SELECT coll FROM coffer_collection) LIMIT 1
    """
  package static let hasDocuments = "SELECT 1 FROM coffer_record WHERE coll=? LIMIT 1"
  package static let countInCollection = "SELECT count(*) FROM coffer_record WHERE coll=?"
  /// The latest generation in which a current row changed.
  package static let newestRevision = """
    SELECT max((SELECT coalesce(max(rev),0) FROM (SELECT rev FROM coffer_record NOT INDEXED LIMIT ?1)),
      (SELECT coalesce(max(rev),0) FROM (SELECT rev FROM coffer_collection LIMIT ?1)),
      (SELECT coalesce(max(rev),0) FROM (SELECT rev FROM coffer_gone LIMIT ?1)))
    """
  package static let highestID = "SELECT max(id) FROM coffer_record"
  package static let highestIDBelow = "SELECT max(id) FROM coffer_record WHERE id<?"
  package static let allIDs = "SELECT id FROM coffer_record ORDER BY id"
  package static let idsAfter = "SELECT id FROM coffer_record WHERE id>? ORDER BY id LIMIT ?"
  package static let anyChild = "SELECT id FROM coffer_record WHERE parent=? LIMIT 1"

  // MARK: Attachments

  /// A sealed value that isn't a blob, or is too long, is read as NULL, so it damages only its row.
  private static let readAttachment = """
    SELECT attachment,id,rev,CASE WHEN typeof(sealed)='blob' AND length(sealed)<=\(StoreFormat.maximumSealedAttachment)
    THEN sealed END FROM coffer_attachment
    """
  package static let attachment = "\(readAttachment) WHERE attachment=?"
  package static let attachments = "\(readAttachment) NOT INDEXED WHERE attachment>=? ORDER BY attachment LIMIT ?"
  package static let attachmentsOf = "\(readAttachment) WHERE id=? ORDER BY attachment"
  package static let attachmentsOfAll = "\(readAttachment) WHERE id BETWEEN ? AND ? ORDER BY id,attachment"
  package static let allAttachments = "\(readAttachment) ORDER BY id,attachment"
  /// The attachments of documents whose rows aren't below an epoch.
  package static let attachmentsNotBelowEpoch = """
    \(readAttachment) WHERE NOT EXISTS (SELECT 1 FROM coffer_record r WHERE r.id=coffer_attachment.id AND r.epoch<?)
      ORDER BY id,attachment
    """
  package static let attachedAtOrBelow = "SELECT max(id) FROM coffer_attachment WHERE id<=?"
  package static let attachedAtOrAbove = "SELECT min(id) FROM coffer_attachment WHERE id>=?"
  package static let attachmentNumbers = """
    SELECT attachment FROM coffer_attachment NOT INDEXED WHERE attachment>=? AND attachment<? ORDER BY attachment LIMIT ?
    """
  package static let attachmentNumbersFrom =
    "SELECT attachment FROM coffer_attachment NOT INDEXED WHERE attachment>=? ORDER BY attachment"
  package static let insertAttachment = "INSERT INTO coffer_attachment VALUES(?,?,?,?)"
  package static let updateAttachment = "UPDATE coffer_attachment SET rev=?,sealed=? WHERE attachment=?"
  package static let deleteAttachment = "DELETE FROM coffer_attachment WHERE attachment=?"
  package static let chunk = "SELECT ct FROM coffer_chunk WHERE chunk=?"
  package static let insertChunk = "INSERT INTO coffer_chunk VALUES(?,?)"
  package static let updateChunk = "UPDATE coffer_chunk SET ct=? WHERE chunk=?"
  package static let deleteChunks = "DELETE FROM coffer_chunk WHERE chunk BETWEEN ? AND ?"
  /// The numbers of an attachment's chunks, and of its chunks with the expected length.
  package static let chunkCounts = """
    SELECT count(*),count(CASE WHEN chunk<=?3 AND typeof(ct)='blob' AND length(ct)=CASE chunk WHEN ?3 THEN ?5 ELSE ?4 END
    THEN 1 END) FROM coffer_chunk WHERE chunk BETWEEN ?1 AND ?2
    """
  package static let firstChunkFrom = "SELECT min(chunk) FROM coffer_chunk WHERE chunk>=?"
  package static let lowestChunk = "SELECT min(chunk) FROM coffer_chunk"
  package static let highestChunk = "SELECT max(chunk) FROM coffer_chunk"
  static let deleteAllAttachments = ["DELETE FROM coffer_attachment", "DELETE FROM coffer_chunk"]
  package static let hasDocument = "SELECT 1 FROM coffer_record NOT INDEXED WHERE id=?"

  // MARK: Records, read

  private static let read = "SELECT \(RecordRow.columns) FROM coffer_record r"
  // Looks up the other table only if the record doesn't contain the body.
  private static let readWithBody =
    "SELECT \(RecordRow.columns),r.body,\(otherBody) FROM coffer_record r"
  private static let otherBody = "CASE WHEN r.body IS NULL THEN (SELECT ct FROM coffer_body WHERE id=r.id) END"
  package static let record = "\(read) WHERE r.id=?"
  package static let recordWithBody = "\(readWithBody) WHERE r.id=?"
  package static let recordByBlindIndex = "\(read) WHERE r.coll=? AND r.lookup=? AND r.flags<2"
  package static let recordByBlindIndexWithBody = "\(readWithBody) WHERE r.coll=? AND r.lookup=? AND r.flags<2"
  /// The rows with a key that another row holds.
  package static let heldElsewhere =
    "SELECT id FROM coffer_record WHERE coll=? AND lookup=? AND flags>=2 ORDER BY id"
  package static let hasHeldElsewhere = "SELECT 1 FROM coffer_record WHERE flags>=2 LIMIT 1"
  package static let page = "\(read) WHERE r.coll=? ORDER BY r.pos,r.id LIMIT ? OFFSET ?"
  package static let pageAfter =
    "\(read) WHERE r.coll=?1 AND (r.pos,r.id)>(?2,?3) ORDER BY r.pos,r.id LIMIT ?4 OFFSET ?5"
  package static let pageAfterWithBody =
    "\(readWithBody) WHERE r.coll=?1 AND (r.pos,r.id)>(?2,?3) ORDER BY r.pos,r.id"
  package static let inOrder = "\(read) WHERE r.coll=? ORDER BY r.pos,r.id"
  package static let inOrderWithBody = "\(readWithBody) WHERE r.coll=? ORDER BY r.pos,r.id"
  package static let allRecords = "\(read) ORDER BY r.id"
  package static let allWithBody = "\(readWithBody) ORDER BY r.id"
  package static let idRange = "\(read) WHERE r.id BETWEEN ? AND ? ORDER BY r.id"
  package static let idRangeWithBody = "\(readWithBody) WHERE r.id BETWEEN ? AND ? ORDER BY r.id"
  package static let idRangeDescending = "\(read) WHERE r.id BETWEEN ? AND ? ORDER BY r.id DESC"
  package static let idRangeDescendingWithBody = "\(readWithBody) WHERE r.id BETWEEN ? AND ? ORDER BY r.id DESC"
  /// The row without a lookup in the other table, and with its body if the record contains it.
  package static let recordAlone = "SELECT \(RecordRow.columns),r.body FROM coffer_record r WHERE r.id=?"
  package static let allAlone = "SELECT \(RecordRow.columns),r.body FROM coffer_record r ORDER BY r.id"
  package static let body = "SELECT ct FROM coffer_body WHERE id=?"
  package static let collectionOf = "SELECT coll FROM coffer_record WHERE id=?"
  /// All rows. Looks up the bodies in the other table only for rows after a generation.
  package static let allWithBodyAfter = """
    SELECT \(RecordRow.columns),r.body,CASE WHEN r.body IS NULL AND r.rev>? THEN \
    (SELECT ct FROM coffer_body WHERE id=r.id) END FROM coffer_record r ORDER BY r.id
    """
  package static let someIDsInCollection = "SELECT id FROM coffer_record WHERE coll=? ORDER BY pos,id LIMIT ?"
  package static let keyedIDsAfter =
    "SELECT id FROM coffer_record WHERE coll=? AND id>? AND lookup IS NOT NULL ORDER BY id LIMIT ?"
  package static let children = "\(read) WHERE r.parent=? ORDER BY r.pos,r.id"
  package static let idsAndParents = "SELECT id,parent FROM coffer_record WHERE coll=? ORDER BY pos,id"
  package static let firstBelow = "SELECT id FROM coffer_record WHERE coll=?1 AND parent IS ?2 ORDER BY pos,id LIMIT 1"
  package static let highestParent =
    "SELECT parent FROM coffer_record WHERE parent IS NOT NULL ORDER BY parent DESC LIMIT 1"
  package static let idsOfChildren = "SELECT id FROM coffer_record WHERE parent=? ORDER BY id"
  package static let belowEpoch = "\(readWithBody) WHERE r.id>=?1 AND r.epoch<?2 ORDER BY r.id LIMIT ?3"
  package static let idsBelowEpoch = "SELECT id FROM coffer_record WHERE epoch<? ORDER BY id LIMIT ?"
  package static let countBelowEpoch = "SELECT count(*) FROM coffer_record WHERE epoch<?"
  package static let newestEpoch = "SELECT epoch FROM coffer_record ORDER BY id DESC LIMIT 1"
  package static let perOtherEpoch = """
    SELECT epoch,count(*) FROM (SELECT epoch FROM coffer_record NOT INDEXED LIMIT ?2) WHERE epoch<>?1 GROUP BY epoch
    """

  // MARK: Order

  private static let entry = "SELECT pos,id FROM coffer_record WHERE coll=?1"
  package static let topEntry = "\(entry) ORDER BY pos,id LIMIT 1"
  package static let bottomEntry = "\(entry) ORDER BY pos DESC,id DESC LIMIT 1"
  package static let entryBefore = "\(entry) AND (pos,id)<(?2,?3) ORDER BY pos DESC,id DESC LIMIT 1"
  package static let entryAfter = "\(entry) AND (pos,id)>(?2,?3) ORDER BY pos,id LIMIT 1"
  package static let entryAtIndex = "\(entry) ORDER BY pos,id LIMIT 1 OFFSET ?2"
  package static let countBefore = "SELECT count(*) FROM coffer_record WHERE coll=?1 AND (pos,id)<(?2,?3)"
  package static let entries = "\(entry) ORDER BY pos,id"
  package static let allEntries = "SELECT coll,pos,id FROM coffer_record ORDER BY coll,pos,id"
  /// The adjacent entries of a position, excluding entries with the same position.
  package static let entryBelow = "\(entry) AND pos<?2 ORDER BY pos DESC,id DESC LIMIT 1"
  package static let entryAbove = "\(entry) AND pos>?2 ORDER BY pos,id LIMIT 1"
  package static let entriesUpTo = "\(entry) AND (pos,id)<=(?2,?3) ORDER BY pos DESC,id DESC LIMIT ?4"
  package static let entriesAfter = "\(entry) AND (pos,id)>(?2,?3) ORDER BY pos,id LIMIT ?4"

  // MARK: Records, written

  package static let insertRecord = "INSERT INTO coffer_record VALUES(?,?,?,?,?,?,?,?,?,?,?,?)"
  package static let insertBody = "INSERT INTO coffer_body VALUES(?,?)"
  package static let updateBody = "UPDATE coffer_body SET ct=?2 WHERE id=?1"
  /// Returns an UPDATE of one record that sets these columns and the columns that every change sets. Its parameters
  /// have the columns' numbers.
  ///
  /// SQLite rewrites an index entry for each indexed column in a statement, even if its value is unchanged.
  package static func updateRecord(_ columns: RecordColumns) -> String {
    let others = columns.assignments.map { ",\($0)" }.joined()
    return "UPDATE coffer_record SET epoch=?3,rev=?4,head=?10,body_nt=?11\(others) WHERE id=?1"
  }
  package static let deleteEverything = ["coffer_body", "coffer_record", "coffer_collection", "coffer_gone"].map {
    "DELETE FROM \($0)"
  }
  package static let deleteRecord = "DELETE FROM coffer_record WHERE id=?"
  package static let deleteBody = "DELETE FROM coffer_body WHERE id=?"

  // MARK: Numbers of what is damaged, past every index

  package static let recordNumbers = "SELECT id FROM coffer_record NOT INDEXED WHERE id>=? ORDER BY id"
  package static let bodyNumbers = "SELECT id FROM coffer_body WHERE id>=? ORDER BY id"
  package static let collectionNumbers = "SELECT DISTINCT coll FROM coffer_collection WHERE coll>=? ORDER BY coll"
  /// The rows with this number, latest first. A search of all pages may find several rows.
  package static let collection = "SELECT coll,rev,sealed FROM coffer_collection WHERE coll=? ORDER BY rev DESC"
  package static let deletionNumbers = "SELECT DISTINCT gone FROM coffer_gone WHERE gone>=? ORDER BY gone"
  package static let deletion = "SELECT gone,rev,sealed FROM coffer_gone WHERE gone=? ORDER BY rev DESC"
  package static let indexedNumbers = "SELECT id FROM coffer_record INDEXED BY coffer_record_pos"

  // MARK: Features

  package static let unknownFeatureTables = """
    SELECT name FROM sqlite_schema WHERE type='table' AND name>='coffer_x_' AND name<'coffer_x`'
    AND name NOT IN ('coffer_x_index','coffer_x_index_page','coffer_x_release') ORDER BY name
    """
  package static let statisticsTables =
    "SELECT name FROM sqlite_schema WHERE type='table' AND name>='sqlite_stat0' AND name<'sqlite_stat:' ORDER BY name"

  /// Returns a statement that empties a table whose name was read from the file.
  package static func emptyTable(_ name: String) -> String {
    "DELETE FROM \"\(name.replacing(ascii: "\"", with: "\"\""))\""
  }

  // MARK: Releases

  package static let releases = "SELECT number,note FROM coffer_x_release ORDER BY number LIMIT ?"
  package static let putRelease = "INSERT INTO coffer_x_release VALUES(?,?,?)"
  package static let releasePart = "SELECT private FROM coffer_x_release WHERE number=?"

  // MARK: Indexes

  /// A collection's documents in ID order, without using an index.
  package static let byIDWithBody =
    "SELECT \(RecordRow.columns),r.body,\(otherBody) FROM coffer_record r NOT INDEXED WHERE r.coll=? ORDER BY r.id"
  package static let indexRoots = "SELECT part,epoch,sealed FROM coffer_x_index ORDER BY part LIMIT 65"
  package static let indexRoot = "SELECT epoch,sealed FROM coffer_x_index WHERE part=?"
  package static let putIndexRoot = "INSERT OR REPLACE INTO coffer_x_index VALUES(?,?,?)"
  package static let deleteIndexRoot = "DELETE FROM coffer_x_index WHERE part=?"
  package static let indexPage = "SELECT epoch,sealed FROM coffer_x_index_page WHERE place=?"
  package static let putIndexPage = "INSERT OR REPLACE INTO coffer_x_index_page VALUES(?,?,?)"
  package static let countIndexPages = "SELECT count(*) FROM coffer_x_index_page WHERE place BETWEEN ? AND ?"
  package static let deleteIndexPages = "DELETE FROM coffer_x_index_page WHERE place BETWEEN ? AND ?"

  // MARK: Whole

  package static let recordsWithoutBody =
    "SELECT r.id FROM coffer_record r WHERE r.body IS NULL AND r.id NOT IN (SELECT id FROM coffer_body) ORDER BY r.id"
  package static let recordsWithTwoBodies =
    "SELECT b.id FROM coffer_body b JOIN coffer_record r ON r.id=b.id WHERE r.body IS NOT NULL ORDER BY b.id"
  package static let bodiesBesideRecords =
    "SELECT count(*) FROM coffer_body b JOIN coffer_record r ON r.id=b.id WHERE r.body IS NULL"
  package static let bodiesWithoutRecord =
    "SELECT b.id FROM coffer_body b LEFT JOIN coffer_record r ON r.id=b.id WHERE r.id IS NULL ORDER BY b.id"
  package static let bodiesTooShort =
    "SELECT id FROM coffer_body WHERE typeof(ct)<>'blob' OR length(ct)<=2048 ORDER BY id"
  package static let recordsWithoutCollection =
    "SELECT DISTINCT r.coll FROM coffer_record r LEFT JOIN coffer_collection c ON c.coll=r.coll WHERE c.coll IS NULL"
  /// Chunks outside the bounds in FORMAT, "Column classes and sizes".
  package static let chunksOutOfBounds = """
    SELECT chunk FROM coffer_chunk WHERE chunk<1<<24 OR typeof(ct)<>'blob' OR length(ct) NOT BETWEEN 40 AND 40+(1<<20)
    ORDER BY chunk
    """
  package static let attachmentsWithoutChunk = """
    SELECT attachment FROM coffer_attachment NOT INDEXED WHERE attachment<<24 NOT IN (SELECT chunk FROM coffer_chunk)
    ORDER BY attachment
    """
  package static let attachmentsWithoutRecord =
    "SELECT attachment FROM coffer_attachment WHERE id NOT IN (SELECT id FROM coffer_record) ORDER BY attachment"
  package static let integrity = "integrity_check(20)"
  package static let clearTitles = "SELECT id,pos,title FROM coffer_record WHERE coll=? ORDER BY pos,id"
}
