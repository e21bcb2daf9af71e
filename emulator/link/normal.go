package link

import "math"

// Normal returns a draw of the standard normal distribution: the quantile of
// one uniform draw, so that one n costs one draw. It is read off a table by
// straight lines: within 1.1e-5 of the exact quantile, which no sample of
// fewer than 10^12 draws can tell. Beyond the 64ths at both ends, where the
// quantile bends, it is the exact one.
func (d Draw) Normal(n uint64) float64 { return normal(d.Uint64(n)) }

// normal returns the quantile of the first 53 of 64 uniform bits.
func normal(bits uint64) float64 {
	// The middle of the 2^53 cells, so that neither 0 nor 1 occurs; of the
	// two halves, which mirror each other, the lower.
	upper, p := bits&(1<<63), bits>>11&(1<<52-1)
	if upper != 0 {
		p = 1<<52 - 1 - p
	}
	far := 0.0 // from the middle
	if i := p >> normalShift; i < normalExact {
		far = -Quantile((float64(p) + 0.5) * 0x1p-53)
	} else {
		part := (float64(p&(1<<normalShift-1)) + 0.5) * (1.0 / (1 << normalShift))
		a, b := normals[i], normals[i+1]
		far = a + float64(part*(b-a)) // rounded twice wherever it runs
	}
	return math.Float64frombits(math.Float64bits(far) | upper ^ 1<<63)
}

const (
	normalCells = 1 << 11 // of the lower half of probability
	normalShift = 52 - 11
	normalExact = normalCells / 32 // at the end that are not tabled: 1/64 of probability
)

// normals holds how far the quantile is from the middle where each cell of
// the lower half begins, and in the end the middle itself.
var normals = func() (t [normalCells + 1]float64) {
	for i := normalExact; i < normalCells; i++ {
		t[i] = -Quantile(float64(i) / (2 * normalCells))
	}
	return t
}()

// Quantile is the inverse of the standard normal distribution function, by
// Wichura's AS241 (PPND16; Applied Statistics 37, 1988), good to about 1 part
// in 10^16; p in (0, 1).
func Quantile(p float64) float64 {
	q := p - 0.5
	if math.Abs(q) <= 0.425 {
		r := 0.180625 - q*q
		return q * quotient(r, &as241centre)
	}
	r := p
	if q > 0 {
		r = 1 - p
	}
	r = math.Sqrt(-math.Log(r))
	var z float64
	if r <= 5 {
		z = quotient(r-1.6, &as241near)
	} else {
		z = quotient(r-5, &as241far)
	}
	if q < 0 {
		return -z
	}
	return z
}

// rational is two polynomials of degree 7, the constant first: numerator and
// denominator.
type rational [2][8]float64

// quotient returns c at x. Both polynomials are reckoned side by side, so
// that neither waits for the other.
func quotient(x float64, c *rational) float64 {
	a, b := c[0][7], c[1][7]
	a, b = a*x+c[0][6], b*x+c[1][6]
	a, b = a*x+c[0][5], b*x+c[1][5]
	a, b = a*x+c[0][4], b*x+c[1][4]
	a, b = a*x+c[0][3], b*x+c[1][3]
	a, b = a*x+c[0][2], b*x+c[1][2]
	a, b = a*x+c[0][1], b*x+c[1][1]
	return (a*x + c[0][0]) / (b*x + c[1][0])
}

// Coefficients of AS241: for the middle 85 %, for tails down to e^-25, and
// beyond.
var (
	as241centre = rational{
		{3.3871328727963666080, 133.14166789178437745, 1971.5909503065514427, 13731.693765509461125, 45921.953931549871457, 67265.770927008700853, 33430.575583588128105, 2509.0809287301226727},
		{1, 42.313330701600911252, 687.18700749205790830, 5394.1960214247511077, 21213.794301586595867, 39307.895800092710610, 28729.085735721942674, 5226.4952788528545610}}
	as241near = rational{
		{1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550, 3.64784832476320460504, 1.27045825245236838258, 0.241780725177450611770, 0.0227238449892691845833, 0.000774545014278341407640},
		{1, 2.05319162663775882187, 1.67638483018380384940, 0.689767334985100004550, 0.148103976427480074590, 0.0151986665636164571966, 0.000547593808499534494600, 1.05075007164441684324e-9}}
	as241far = rational{
		{6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580, 0.296560571828504891230, 0.0265321895265761230930, 0.00124266094738807843860, 0.0000271155556874348757815, 2.01033439929228813265e-7},
		{1, 0.599832206555887937690, 0.136929880922735805310, 0.0148753612908506148525, 0.000786869131145613259100, 0.0000184631831751005468180, 1.42151175831644588870e-7, 2.04426310338993978564e-15}}
)
