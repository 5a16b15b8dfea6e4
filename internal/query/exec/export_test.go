package exec

// Reused returns how many executions of a plan took the state that an earlier one had left.
func Reused(p *Prepared) int64 { return p.reused.Load() }

// Idle takes the state that an execution has left; nil if there is none.
func Idle(p *Prepared) any {
	if x, ok := p.idle.Get().(*run); ok {
		return x
	}
	return nil
}
