package fleet

import (
	"math"
	"math/rand/v2"
	"time"
)

// A Distribution is the shape of a random time.
type Distribution string

const (
	// Constant is always the mean.
	Constant Distribution = "constant"
	// Exponential is memoryless; its standard deviation is its mean.
	Exponential Distribution = "exponential"
	// Lognormal has a long tail; [Times].Variation is its width.
	Lognormal Distribution = "lognormal"
)

// Times are random times around a mean.
type Times struct {
	Mean         time.Duration
	Distribution Distribution
	Variation    float64 // standard deviation over mean, of Lognormal
}

// of returns the time for two numbers in [0, 1).
func (t Times) of(u, v float64) time.Duration {
	switch t.Distribution {
	case Exponential:
		return time.Duration(-math.Log(1-u) * float64(t.Mean))
	case Lognormal:
		variance := math.Log(1 + t.Variation*t.Variation)
		normal := math.Sqrt(-2*math.Log(1-u)) * math.Cos(2*math.Pi*v)
		return time.Duration(float64(t.Mean) * math.Exp(normal*math.Sqrt(variance)-variance/2))
	default:
		return t.Mean
	}
}

// random is a stream of numbers that belongs to one client.
type random struct{ rand.PCG }

func newRandom(seed uint64, owner int) random {
	return random{*rand.NewPCG(seed, mix(uint64(owner)+1))}
}

func (r *random) unit() float64 { return toUnit(r.Uint64()) }

func (r *random) draw(t Times) time.Duration {
	if t.Mean == 0 {
		return 0
	}
	if t.Distribution == Lognormal {
		return t.of(r.unit(), r.unit())
	}
	return t.of(r.unit(), 0)
}

// at draws from t for the number of one request.
func (t Times) at(number uint64) time.Duration {
	if t.Distribution == Constant {
		return t.Mean
	}
	return t.of(toUnit(mix(number)), toUnit(mix(number+1)))
}

func toUnit(x uint64) float64 { return float64(x>>11) / (1 << 53) }

// mix hashes x, so that adjacent numbers give independent results (SplitMix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
