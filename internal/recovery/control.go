package recovery

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	iofs "io/fs"
	"path"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

// FormatMajor and FormatMinor are the version of everything on disk. A minor step is upgraded in place, a major one refused.
const (
	FormatMajor = 1
	FormatMinor = 0
)

// State says how the database was left.
type State uint8

const (
	Running  State = iota // in use, or crashed
	ShutDown              // closed after a checkpoint
)

// Control is what the control file says: where to begin.
type Control struct {
	Sequence      uint64 // of the copy: the higher one counts
	Major, Minor  uint16
	PageSize      uint32
	LogSegment    uint32     // size of a log segment
	SegmentBlocks page.Block // pages in a data file
	DatabaseID    [16]byte
	Timeline      uint32
	State         State
	Checkpoint    page.LSN // where the checkpoint record begins; 0 before the first
	CheckpointEnd page.LSN // its LSN
	Redo          page.LSN // where redo begins
	NextRelFile   page.RelFile
	Time          time.Time
}

// NewControl returns what the control file of a new database begins with; zero sizes mean the usual ones.
func NewControl(logSegment uint32, segmentBlocks page.Block) Control {
	if logSegment == 0 {
		logSegment = wal.DefaultSegmentSize
	}
	if segmentBlocks == 0 {
		segmentBlocks = 131072
	}
	c := Control{Major: FormatMajor, Minor: FormatMinor, PageSize: page.Size, LogSegment: logSegment, SegmentBlocks: segmentBlocks,
		Timeline: 1, NextRelFile: 1, Time: time.Now()}
	rand.Read(c.DatabaseID[:]) //nolint:errcheck // never fails
	return c
}

// Places of the two copies: different disk blocks, so that a torn write harms one only (R3).
const (
	controlName = "control"
	copySize    = 512
	copyStride  = 4096
	magic       = "HEDGEROW"
)

var le = binary.LittleEndian

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (c *Control) encode() []byte {
	b := make([]byte, copySize)
	copy(b, magic)
	le.PutUint16(b[8:], c.Major)
	le.PutUint16(b[10:], c.Minor)
	le.PutUint64(b[16:], c.Sequence)
	copy(b[24:], c.DatabaseID[:])
	le.PutUint32(b[40:], c.PageSize)
	le.PutUint32(b[44:], c.LogSegment)
	le.PutUint32(b[48:], uint32(c.SegmentBlocks))
	le.PutUint32(b[52:], c.Timeline)
	le.PutUint64(b[56:], uint64(c.Checkpoint))
	le.PutUint64(b[64:], uint64(c.CheckpointEnd))
	le.PutUint64(b[72:], uint64(c.Redo))
	le.PutUint64(b[80:], uint64(c.NextRelFile))
	le.PutUint64(b[88:], uint64(c.Time.UnixNano()))
	b[96] = byte(c.State)
	le.PutUint32(b[12:], crc32.Checksum(b, castagnoli))
	return b
}

func decodeControl(b []byte) (*Control, bool) {
	if len(b) != copySize || string(b[:8]) != magic {
		return nil, false
	}
	sum := le.Uint32(b[12:])
	clean := append([]byte(nil), b...)
	le.PutUint32(clean[12:], 0)
	if crc32.Checksum(clean, castagnoli) != sum {
		return nil, false
	}
	c := &Control{
		Major: le.Uint16(b[8:]), Minor: le.Uint16(b[10:]), Sequence: le.Uint64(b[16:]),
		PageSize: le.Uint32(b[40:]), LogSegment: le.Uint32(b[44:]), SegmentBlocks: page.Block(le.Uint32(b[48:])),
		Timeline: le.Uint32(b[52:]), Checkpoint: page.LSN(le.Uint64(b[56:])), CheckpointEnd: page.LSN(le.Uint64(b[64:])),
		Redo: page.LSN(le.Uint64(b[72:])), NextRelFile: page.RelFile(le.Uint64(b[80:])),
		Time: time.Unix(0, int64(le.Uint64(b[88:]))), State: State(b[96]),
	}
	copy(c.DatabaseID[:], b[24:40])
	return c, true
}

// ReadControl returns the newest valid copy, and the older one if it is valid too.
func ReadControl(fs vfs.FS, dir string) (newest, older *Control, err error) {
	name := vfs.Join(dir, controlName)
	f, err := fs.Open(name)
	if errors.Is(err, vfs.ErrNotExist) {
		return nil, nil, dberr.Wrap(dberr.DataCorrupted, err, "%s is not a database", dir)
	}
	if err != nil {
		return nil, nil, dberr.Wrap(dberr.IOError, err, "cannot open file %s", name)
	}
	defer f.Close()
	for i := range int64(2) {
		b := make([]byte, copySize)
		if _, err := f.ReadAt(b, i*copyStride); err != nil && err != io.EOF {
			return nil, nil, dberr.Wrap(dberr.IOError, err, "cannot read file %s", name)
		}
		c, ok := decodeControl(b)
		switch {
		case !ok:
		case newest == nil:
			newest = c
		case c.Sequence > newest.Sequence:
			newest, older = c, newest
		default:
			older = c
		}
	}
	if newest == nil {
		return nil, nil, dberr.New(dberr.DataCorrupted, "file %s: neither copy is valid", name)
	}
	if newest.Major != FormatMajor || newest.Minor > FormatMinor {
		return nil, nil, dberr.New(dberr.FeatureNotSupported, "the database has format %d.%d, this program knows %d.%d",
			newest.Major, newest.Minor, FormatMajor, FormatMinor).
			WithHint("Use `hedgerow dump` of the release that wrote it, and `hedgerow restore` of this one.")
	}
	if newest.PageSize != page.Size {
		return nil, nil, dberr.New(dberr.DataCorrupted, "file %s: page size %d is not %d", name, newest.PageSize, page.Size)
	}
	return newest, older, nil
}

// WriteControl writes c with the next sequence number over the older copy, and makes it durable.
func WriteControl(fs vfs.FS, dir string, c *Control) error {
	name := vfs.Join(dir, controlName)
	f, err := fs.Open(name)
	if errors.Is(err, vfs.ErrNotExist) {
		if f, err = fs.Create(name); err == nil {
			err = f.Truncate(2 * copyStride)
		}
	}
	if err != nil {
		return dberr.Wrap(dberr.IOError, err, "cannot open file %s", name)
	}
	defer f.Close()
	c.Sequence++
	c.Major, c.Minor, c.PageSize = FormatMajor, FormatMinor, page.Size
	if _, err = f.WriteAt(c.encode(), int64(c.Sequence%2)*copyStride); err == nil {
		err = f.Sync()
	}
	if err != nil {
		return dberr.Wrap(dberr.IOError, err, "cannot write file %s", name)
	}
	return nil
}

// The directories of a database (B12).
var subdirs = []string{"wal", "base", "xact", "csn", "tmp"}

const initDir = ".init"

// Exists reports whether dir holds a database. What an interrupted making of one left behind is removed. A directory that holds
// something else is refused.
func Exists(fs vfs.FS, dir string) (bool, error) {
	if _, err := fs.Stat(vfs.Join(dir, controlName)); err == nil {
		// The rest of a making that was complete.
		return true, wrapIO(fs.RemoveAll(vfs.Join(dir, initDir)), "remove", vfs.Join(dir, initDir))
	} else if !errors.Is(err, vfs.ErrNotExist) {
		return false, wrapIO(err, "look at", dir)
	}
	making, foreign, err := contents(fs, dir)
	if err != nil {
		return false, err
	}
	if !making {
		return false, refusal(dir, foreign)
	}
	// .init stands, the control file does not: nothing here was ever acknowledged to anybody.
	for _, s := range subdirs {
		if err := fs.RemoveAll(vfs.Join(dir, s)); err != nil {
			return false, wrapIO(err, "remove", vfs.Join(dir, s))
		}
	}
	if err := fs.SyncDir(dir); err != nil {
		return false, wrapIO(err, "sync", dir)
	}
	return false, wrapIO(fs.RemoveAll(vfs.Join(dir, initDir)), "remove", vfs.Join(dir, initDir))
}

// Refuse returns an error if dir holds something that is no database. It changes nothing and needs no lock.
func Refuse(fs vfs.FS, dir string) error {
	if _, err := fs.Stat(vfs.Join(dir, controlName)); err == nil {
		return nil
	}
	making, foreign, err := contents(fs, dir)
	if err != nil || making {
		return err
	}
	return refusal(dir, foreign)
}

// contents looks at what lies in dir: an unfinished database, or a file that belongs to none.
func contents(fs vfs.FS, dir string) (making bool, foreign string, err error) {
	list, err := fs.List(dir)
	if errors.Is(err, vfs.ErrNotExist) {
		return false, "", nil
	}
	if err != nil {
		return false, "", wrapIO(err, "list", dir)
	}
	for _, e := range list {
		switch e.Name {
		case initDir, controlName: // controlName: another process finished it just now
			making = true
		case "LOCK":
		default:
			foreign = e.Name
		}
	}
	return making, foreign, nil
}

func refusal(dir, foreign string) error {
	if foreign == "" {
		return nil
	}
	return dberr.New(dberr.InvalidParameterValue, "directory %s is not empty and holds no database (it has %s)", dir, foreign).
		WithHint("Name the directory of a database, or one that does not exist yet.")
}

func wrapIO(err error, verb, name string) error {
	if err == nil {
		return nil
	}
	return dberr.Wrap(dberr.IOError, err, "cannot %s %s", verb, name)
}

// BeginInit makes DIR/.init with the directories of a database and returns its path; the database is built there (R7).
func BeginInit(fs vfs.FS, dir string) (string, error) {
	if err := fs.MkdirAll(dir); err != nil {
		return "", wrapIO(err, "make", dir)
	}
	d := vfs.Join(dir, initDir)
	for _, s := range subdirs {
		if err := fs.MkdirAll(vfs.Join(d, s)); err != nil {
			return "", wrapIO(err, "make", vfs.Join(d, s))
		}
	}
	for _, x := range []string{d, dir, path.Dir(dir)} {
		// A parent that may not be read is not ours, and did not get the directory from us.
		if err := fs.SyncDir(x); err != nil && !(x == path.Dir(dir) && errors.Is(err, iofs.ErrPermission)) {
			return "", wrapIO(err, "sync", x)
		}
	}
	return d, nil
}

// EndInit moves what was built in DIR/.init, closed and synced, to its place; the control file goes last.
func EndInit(fs vfs.FS, dir string) error {
	d := vfs.Join(dir, initDir)
	for _, s := range subdirs {
		if err := fs.SyncDir(vfs.Join(d, s)); err != nil {
			return wrapIO(err, "sync", vfs.Join(d, s))
		}
	}
	if err := fs.SyncDir(d); err != nil {
		return wrapIO(err, "sync", d)
	}
	for _, s := range subdirs {
		if err := fs.Rename(vfs.Join(d, s), vfs.Join(dir, s)); err != nil {
			return wrapIO(err, "move", vfs.Join(d, s))
		}
	}
	if err := fs.SyncDir(dir); err != nil {
		return wrapIO(err, "sync", dir)
	}
	if err := fs.Rename(vfs.Join(d, controlName), vfs.Join(dir, controlName)); err != nil {
		return wrapIO(err, "move", vfs.Join(d, controlName))
	}
	if err := fs.SyncDir(dir); err != nil {
		return wrapIO(err, "sync", dir)
	}
	return wrapIO(fs.RemoveAll(d), "remove", d)
}
