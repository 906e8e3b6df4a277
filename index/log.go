package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"

	"github.com/kindred-ml/kindred/internal/base/atomic"
)

// The log has the changes since the last segment was written. All numbers are
// little-endian.
//
//	bytes     content
//	0   8     magic "kindlog2"
//	8   8     the index's identity, 8 bytes of it
//	16 32     a mark
//	48 32     another mark
//	80        frames, one after another:
//	            0  4  magic "KFRM"
//	            4  4  CRC-32C of all that follows of the frame
//	            8  8  number of the frame, counted from 1
//	           16  4  length of what follows
//	           20     operations; see operation.go
//
// A frame is what one write to the disk made durable: all of it counts, or none. The
// next frame is written only after that, so that no more than the last one can be
// incomplete.
//
// A mark records how many frames were acknowledged, so that a log that was cut short differs
// from one that never was longer:
//
//	0   8     number of frames
//	8   8     end of the last of them
//	16  8     number of their operations
//	24  4     CRC-32C of the bytes before
//	28  4     zero
//
// Of two valid marks the one with more frames counts. A mark overwrites the older one when
// its frame is durable and before the change is acknowledged. A process that is killed thus
// leaves the mark of all that it acknowledged. The mark becomes durable together with the next
// frame, or when the log is closed. After a loss of power it may therefore be one frame
// behind, or torn, and then the other mark counts. The next start updates the marks.
const (
	logMagic    = "kindlog2"
	frameMagic  = "KFRM"
	markOffset  = 16
	markSize    = 32
	logHeader   = markOffset + 2*markSize
	frameHeader = 20
	maxFrame    = 1 << 30
)

// mark records the end of a log.
type mark struct {
	frames     uint64
	end        int64 // end of the last frame
	operations uint64
}

func (m mark) encode() []byte {
	le := binary.LittleEndian
	b := le.AppendUint64(make([]byte, 0, markSize), m.frames)
	b = le.AppendUint64(b, uint64(m.end))
	b = le.AppendUint64(b, m.operations)
	return append(le.AppendUint32(b, crc32.Checksum(b, castagnoli())), 0, 0, 0, 0)
}

// decodeMark reads a mark. It returns false if the mark is invalid.
func decodeMark(b []byte) (mark, bool) {
	le := binary.LittleEndian
	m := mark{le.Uint64(b), int64(le.Uint64(b[8:])), le.Uint64(b[16:])}
	return m, crc32.Checksum(b[:24], castagnoli()) == le.Uint32(b[24:]) && m.end >= logHeader
}

// logFile is a log that is open for writing.
type logFile struct {
	f    *atomic.File
	mark mark // of the frames that are durable
	slot int  // place of the newest valid mark, 0 or 1
	// broken is the reason why the log cannot be written any more; nil if it can.
	broken error
}

// createLog makes an empty log and makes it durable, with its name in the folder. That must happen
// before a manifest names it.
func createLog(files atomic.Files, path, index string) (*logFile, error) {
	if err := files.Remove(path); err != nil { // a killed process may have left it
		return nil, err
	}
	f, err := files.Create(path)
	if err != nil {
		return nil, err
	}
	l := &logFile{f: f, mark: mark{end: logHeader}}
	head := append([]byte(logMagic), encodeIdentity(index)...)
	head = append(append(head, l.mark.encode()...), make([]byte, markSize)...)
	if _, err = f.WriteAt(head, 0); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = files.SyncFolder(filepath.Dir(path))
	}
	if err != nil {
		f.Close()
		return nil, errors.Join(err, files.Remove(path))
	}
	return l, nil
}

// openLog opens a log for writing after the valid frames. Bytes that follow them were never
// acknowledged.
func openLog(files atomic.Files, path string, found *logContent) (*logFile, error) {
	f, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	l := &logFile{f: f, mark: found.mark, slot: found.slot}
	if found.size > l.mark.end {
		err = f.Truncate(l.mark.end)
	}
	if err == nil && found.acknowledged != l.mark { // the last frames have no mark yet
		err = l.writeMark()
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

func encodeIdentity(index string) []byte { return append([]byte(index), make([]byte, 8)...)[:8] }

// append writes a frame of a number of operations and makes it durable. After an error the
// log is as it was before. If it cannot be restored, the log is broken: a later reader may
// or may not find the frame.
func (l *logFile) append(content []byte, operations int) error {
	if l.broken != nil {
		return fmt.Errorf("%s accepts no more changes since this error: %w; open the index again", l.f.Name(), l.broken)
	}
	if len(content) > maxFrame {
		return fmt.Errorf("one write has %d bytes: must be at most %d", len(content), maxFrame)
	}
	le := binary.LittleEndian
	b := make([]byte, frameHeader, frameHeader+len(content))
	copy(b, frameMagic)
	le.PutUint64(b[8:], l.mark.frames+1)
	le.PutUint32(b[16:], uint32(len(content)))
	b = append(b, content...)
	le.PutUint32(b[4:], crc32.Checksum(b[8:], castagnoli()))
	_, err := l.f.WriteAt(b, l.mark.end)
	if err == nil {
		err = l.f.Sync()
	}
	if err != nil { // on a full disk: remove the bytes that were written
		if e := errors.Join(l.f.Truncate(l.mark.end), l.f.Sync()); e != nil {
			l.broken = err
		}
		return err
	}
	l.mark.frames++
	l.mark.end += int64(len(b))
	l.mark.operations += uint64(operations)
	if err := l.writeMark(); err != nil {
		l.broken = err // the frame is written, and the mark may be
		return err
	}
	return nil
}

// writeMark writes the mark over the older one. The newer mark is durable by then, because the log has been
// synced since.
func (l *logFile) writeMark() error {
	to := 1 - l.slot
	if _, err := l.f.WriteAt(l.mark.encode(), markOffset+int64(to)*markSize); err != nil {
		return err
	}
	l.slot = to
	return nil
}

// finish makes the last mark durable and closes the log. It ignores errors, because the frames are durable
// already.
func (l *logFile) finish() error {
	if l.broken == nil {
		_ = l.f.Sync()
	}
	return l.close()
}

func (l *logFile) close() error { return l.f.Close() }
