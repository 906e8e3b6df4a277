package imaging

import "time"

// CaptureTime returns when the photograph in a file was taken, to the second, by the camera's clock
// (EXIF tag DateTimeOriginal). The zone is unknown, so the time is given as UTC. It is the zero
// time if the file lacks the tag or is damaged, or if the clock was never set (0000:00:00).
//
// It does not read the tag DateTime, because programs that edit pictures write their own time
// there.
func CaptureTime(b []byte) time.Time { return ReadEXIF(b).Taken }

// captureTime reads DateTimeOriginal.
func (t tags) captureTime(first uint64) time.Time {
	const (
		exifDirectory, original = 0x8769, 0x9003
		layout                  = "2006:01:02 15:04:05"
	)
	directory, ok := t.subdirectory(first, exifDirectory)
	if !ok {
		return time.Time{}
	}
	text := t.text(directory, original)
	if len(text) < len(layout) {
		return time.Time{}
	}
	when, err := time.Parse(layout, text[:len(layout)])
	if err != nil {
		return time.Time{}
	}
	return when
}
