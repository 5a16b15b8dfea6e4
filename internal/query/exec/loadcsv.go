package exec

import (
	"errors"
	"io"
	"unicode/utf8"

	"github.com/hedgerowdb/hedgerow/internal/csv"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// What LOAD CSV holds does not grow with the file: one record, and the batch that it fills.
const (
	csvMaxRecord = 16 << 20
	csvBatch     = 1 << 20 // bytes of records after which a batch is handed out, full or not
)

// loadCSV yields the records of a file for every input row.
type loadCSV struct {
	core
	in   input
	n    *plan.LoadCSV
	from *expr.Program

	batch *expr.Batch // input rows
	urls  vec.Column
	row   int // of batch, whose file is being read

	file  io.Closer // nil: none is open
	r     *csv.Reader
	path  string
	heads []string // by column; "" has no name and is left out
	mb    value.MapBuilder
	lb    value.ListBuilder
	buf   []byte
	idx   []uint16
	lines []uint64
}

func (o *loadCSV) open() error {
	o.restart()
	o.shut()
	o.batch = nil
	return o.in.op.open()
}

func (o *loadCSV) close() {
	o.shut()
	o.core.close()
}

func (o *loadCSV) shut() {
	if o.file != nil {
		o.file.Close()
		o.file, o.r = nil, nil
	}
}

func (o *loadCSV) next() (*expr.Batch, error) {
	for {
		if err := o.x.check(); err != nil {
			return nil, err
		}
		if o.batch == nil {
			b, err := o.in.next()
			if b == nil || err != nil {
				return nil, err
			}
			if err := o.sync(); err != nil {
				return nil, err
			}
			if err := o.from.Eval(&o.env, b, nil, &o.urls); err != nil {
				return nil, err
			}
			o.batch, o.row = b, 0
		}
		if o.file == nil {
			if o.row >= o.batch.N {
				o.batch = nil
				continue
			}
			if err := o.begin(); err != nil {
				o.shut()
				return nil, err
			}
		}
		n, err := o.fill()
		if err != nil {
			o.shut()
			return nil, err
		}
		if n == 0 {
			o.shut()
			o.row++
			continue
		}
		o.idx = o.idx[:0]
		for range n {
			o.idx = append(o.idx, uint16(o.row))
		}
		for _, s := range o.keepOr(o.batch) {
			if c := o.batch.Cols[s]; c != nil && s != o.n.Var && s != o.n.Line && s != o.n.File {
				o.out.raw(s).Gather(c, o.idx)
			}
		}
		o.out.b.N = n
		held := o.out.bytes() + int64(cap(o.out.own.at(o.n.Var).Arena)+o.r.Held()+cap(o.buf)+o.urls.Size())
		return &o.out.b, o.mem.set(&o.acct, held)
	}
}

// begin opens the file of the row at hand and reads its header.
func (o *loadCSV) begin() error {
	url := o.urls.Value(o.row)
	if url.Kind() != value.String {
		return dberr.New(dberr.TypeError, "LOAD CSV takes a URL as a String, found %s", value.AppendTCK(nil, url)).WithToken("InvalidArgumentType")
	}
	if o.x.opt.Import == nil {
		return dberr.New(dberr.PermissionDenied, "LOAD CSV is not allowed to read files here")
	}
	in, path, err := o.x.opt.Import.Open(url.Str())
	if err != nil {
		return err
	}
	o.file, o.path = in, path
	if o.r, err = csv.NewReader(in, csv.Options{Comma: o.n.Terminator, Quotes: true, Backslash: true, MaxRecord: csvMaxRecord}); err != nil {
		return o.fault(err)
	}
	o.heads = o.heads[:0]
	if !o.n.Headers {
		return nil
	}
	switch err := o.record(); err {
	case nil:
	case io.EOF:
		return nil // no header, and so no rows
	default:
		return err
	}
	for i := range o.r.Len() {
		name, _ := o.r.Field(i)
		o.heads = append(o.heads, string(name))
	}
	return nil
}

// record reads the next record and judges its text.
func (o *loadCSV) record() error {
	err := o.r.Next()
	if err == nil && !utf8.Valid(o.r.Record()) {
		return dberr.New(dberr.InvalidEncoding, "%s:%d: the text is not valid UTF-8", o.path, o.r.Line())
	}
	if err == nil || err == io.EOF {
		return err
	}
	return o.fault(err)
}

// fault gives an error of the reader its place.
func (o *loadCSV) fault(err error) error {
	var at *csv.Error
	switch {
	case errors.As(err, &at):
		return dberr.New(dberr.BadFileFormat, "%s:%d: %s", o.path, at.Line, at.Text)
	case errors.Is(err, csv.ErrUTF16):
		return dberr.Wrap(dberr.InvalidEncoding, err, "%s", o.path)
	}
	return dberr.Wrap(dberr.ExternalResource, err, "cannot read %s", o.path)
}

// fill reads records of the open file into the output batch; none means that the file is at its end.
func (o *loadCSV) fill() (int, error) {
	limit, size, n := o.take(), 0, 0
	o.out.start()
	rows := o.out.col(o.n.Var)
	for n < limit && size < csvBatch {
		err := o.record()
		if err == io.EOF {
			break
		}
		if err != nil {
			return 0, err
		}
		if n&63 == 63 {
			if err := o.x.check(); err != nil {
				return 0, err
			}
		}
		size += len(o.r.Record())
		if o.n.Headers {
			o.mapRow(rows)
		} else {
			o.listRow(rows)
		}
		if o.n.Line != plan.NoSlot {
			o.lines = append(o.lines[:n], uint64(o.r.Last()))
		}
		n++
	}
	if o.n.Line != plan.NoSlot {
		copy(o.out.raw(o.n.Line).Fill(value.Int, n), o.lines)
	}
	if o.n.File != plan.NoSlot {
		c, path := o.out.col(o.n.File), value.NewString(o.path)
		for range n {
			c.Append(path)
		}
	}
	return n, nil
}

// field is null for nothing at all; "" in quotes is an empty string.
func (o *loadCSV) field(i int) value.Value {
	text, quoted := o.r.Field(i)
	if len(text) == 0 && !quoted {
		return value.Value{}
	}
	return value.NewStringBytes(text)
}

func (o *loadCSV) listRow(to *vec.Column) {
	o.lb.Reset()
	for i := range o.r.Len() {
		o.lb.Add(o.field(i))
	}
	o.buf = o.lb.Append(o.buf[:0])
	to.AppendBytes(value.List, o.buf)
}

// mapRow makes the map of a record: a column that the record lacks is null, one beyond the header has no name and is left out, and of equal
// names the last one counts.
func (o *loadCSV) mapRow(to *vec.Column) {
	o.mb.Reset()
	for i, name := range o.heads {
		switch {
		case name == "":
		case i < o.r.Len():
			o.mb.Put(name, o.field(i))
		default:
			o.mb.Put(name, value.Value{})
		}
	}
	o.buf = o.mb.Append(o.buf[:0])
	to.AppendBytes(value.Map, o.buf)
}
