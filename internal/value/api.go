package value

import "iter"

// Tri is a truth value of three-valued logic.
type Tri uint8

const (
	False Tri = iota
	True
	Unknown
)

func Compare(a, b Value) int                       { panic("value: being written") }
func Equal(a, b Value) Tri                         { panic("value: being written") }
func Less(a, b Value) Tri                          { panic("value: being written") }
func Equivalent(a, b Value) bool                   { panic("value: being written") }
func Hash(v Value) uint64                          { panic("value: being written") }
func AppendKey(dst []byte, v Value) []byte         { panic("value: being written") }
func NewList(elems ...Value) Value                 { panic("value: being written") }
func AppendList(dst []byte, elems ...Value) []byte { panic("value: being written") }
func (v Value) Len() int                           { panic("value: being written") }
func (v Value) At(i int) Value                     { panic("value: being written") }
func (v Value) All() iter.Seq2[int, Value]         { panic("value: being written") }
func (v Value) Get(key string) (Value, bool)       { panic("value: being written") }
func (v Value) Entry(i int) (string, Value)        { panic("value: being written") }

// MapBuilder makes maps.
type MapBuilder struct {
	keys []string
	vals []Value
}

func NewMapBuilder() *MapBuilder               { return &MapBuilder{} }
func (b *MapBuilder) Put(key string, v Value)  { panic("value: being written") }
func (b *MapBuilder) Map() Value               { panic("value: being written") }
func (b *MapBuilder) Append(dst []byte) []byte { panic("value: being written") }
func (b *MapBuilder) Reset()                   {}

// Props is a stored record of properties.
type Props []byte

func (p Props) Len() int                                         { panic("value: being written") }
func (p Props) Get(key uint32) (Value, bool)                     { panic("value: being written") }
func (p Props) At(i int) (uint32, Value)                         { panic("value: being written") }
func AppendProps(dst []byte, keys []uint32, vals []Value) []byte { panic("value: being written") }

func AppendValue(dst []byte, v Value) []byte                 { panic("value: being written") }
func DecodeValue(b []byte) (v Value, rest []byte, err error) { panic("value: being written") }

// NewOutOfLine makes the pointer to a value kept in chunks; OutOfLine.Chunk reads it.
func NewOutOfLine(chunk uint64, length uint32) Value { panic("value: being written") }
func (v Value) Chunk() (chunk uint64, length uint32) { panic("value: being written") }

func NewBytes(b []byte) Value                                         { return FromBytes(Bytes, 0, b) }
func NewNodeFull(id uint64, labels []string, props Value) Value       { panic("value: being written") }
func NewRelFull(id, start, end uint64, typ string, props Value) Value { panic("value: being written") }
func NewPath(elems ...Value) Value                                    { panic("value: being written") }
func (v Value) Labels() []string                                      { panic("value: being written") }
func (v Value) RelType() string                                       { panic("value: being written") }
func (v Value) Start() uint64                                         { panic("value: being written") }
func (v Value) End() uint64                                           { panic("value: being written") }
func (v Value) Properties() Value                                     { panic("value: being written") }

func AppendAgtype(dst []byte, v Value) []byte { panic("value: being written") }
func ParseAgtype(text string) (Value, error)  { panic("value: being written") }
func AppendTCK(dst []byte, v Value) []byte    { panic("value: being written") }
func ParseTCK(text string) (Value, error)     { panic("value: being written") }
func AppendJSON(dst []byte, v Value) []byte   { panic("value: being written") }

// Clone returns v with bytes of its own.
func (v Value) Clone() Value { panic("value: being written") }

// ParseTemporal reads ISO text as a value of the kind (Date, Time, LocalTime, DateTime, LocalDateTime, Duration).
func ParseTemporal(k Kind, text string) (Value, error) { panic("value: being written") }

// AppendTemporal writes ISO text.
func AppendTemporal(dst []byte, v Value) []byte { panic("value: being written") }
