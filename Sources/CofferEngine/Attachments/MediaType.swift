/// The media types of common kinds of files (IANA's registry).
enum MediaType {
  private static let types = [
    "aac": "audio/aac", "aiff": "audio/aiff", "avif": "image/avif", "bmp": "image/bmp", "css": "text/css",
    "csv": "text/csv", "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "epub": "application/epub+zip",
    "flac": "audio/flac", "gif": "image/gif", "gz": "application/gzip", "heic": "image/heic", "htm": "text/html",
    "html": "text/html", "ics": "text/calendar", "jpeg": "image/jpeg", "jpg": "image/jpeg",
    "js": "text/javascript", "json": "application/json", "jxl": "image/jxl", "m4a": "audio/mp4", "m4v": "video/mp4",
    "markdown": "text/markdown", "md": "text/markdown", "mkv": "video/matroska", "mov": "video/quicktime",
    "mp3": "audio/mpeg", "mp4": "video/mp4", "mpeg": "video/mpeg", "mpg": "video/mpeg",
    "odp": "application/vnd.oasis.opendocument.presentation", "ods": "application/vnd.oasis.opendocument.spreadsheet",
    "odt": "application/vnd.oasis.opendocument.text", "oga": "audio/ogg", "ogg": "audio/ogg", "ogv": "video/ogg",
    "opus": "audio/ogg", "pdf": "application/pdf", "png": "image/png", "ppt": "application/vnd.ms-powerpoint",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation", "rtf": "application/rtf",
    "svg": "image/svg+xml", "tar": "application/x-tar", "tif": "image/tiff", "tiff": "image/tiff", "txt": "text/plain",
    "vcf": "text/vcard", "wav": "audio/wav", "webm": "video/webm", "webp": "image/webp",
    "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xml": "application/xml",
    "zip": "application/zip",
  ]

  /// Returns the media type that the extension of a file's name stands for, or an empty text for other names.
  static func ofFile(named name: String) -> String {
    guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return "" }
    return types[name[name.index(after: dot)...].lowercased()] ?? ""
  }
}
