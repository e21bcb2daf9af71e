package radio

import (
	"sort"

	"farlink/emulator/link"
)

// cqiSINR[i] is the SINR in dB from which CQI i+1 is reported: the list that
// public simulators share for 10 % BLER; no standard gives one.
var cqiSINR = [15]float64{-6.7, -4.7, -2.3, 0.2, 2.4, 4.3, 5.9, 8.1, 10.3, 11.7, 14.1, 16.3, 18.7, 21.0, 22.7}

// CQI returns the channel quality indicator 1..15 (TS 36.213 table 7.2.3-1)
// for an SINR in dB; 0 is "no service".
func CQI(sinr float64) int {
	return sort.Search(len(cqiSINR), func(i int) bool { return sinr < cqiSINR[i] })
}

// MCS returns the highest modulation and coding scheme 0..28 whose efficiency
// does not exceed that of the CQI 1..15.
func MCS(cqi int) int { return 2 * (max(cqi, 1) - 1) }

// requiredSINR returns the SINR in dB at which a block of the CQI meets the
// 10 % BLER by which the CQI is defined (TS 36.213 clause 7.2.3).
func requiredSINR(cqi int) float64 { return cqiSINR[max(cqi, 1)-1] }

// indices give the TBS index of an MCS by way: TS 36.213 tables 7.1.7.1-1
// (downlink) and 8.6.1-1 (uplink).
var indices = [2][29]uint8{
	link.Down: {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 10, 11, 12, 13, 14, 15, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26},
	link.Up:   {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 19, 20, 21, 22, 23, 24, 25, 26},
}

// Index returns the TBS index 0..26 of an MCS 0..28 on a way.
func Index(w link.Way, mcs int) int { return int(indices[w][mcs]) }

// tbsPRB are the columns of tbsTable.
var tbsPRB = [6]int{6, 15, 25, 50, 75, 100}

// tbsTable is the transport block size in bits by TBS index and number of
// physical resource blocks: six columns of TS 36.213 table 7.1.7.2.1-1.
var tbsTable = [27][6]int32{
	{152, 392, 680, 1384, 2088, 2792},
	{208, 520, 904, 1800, 2728, 3624},
	{256, 648, 1096, 2216, 3368, 4584},
	{328, 872, 1416, 2856, 4392, 5736},
	{408, 1064, 1800, 3624, 5352, 7224},
	{504, 1320, 2216, 4392, 6712, 8760},
	{600, 1544, 2600, 5160, 7736, 10296},
	{712, 1800, 3112, 6200, 9144, 12216},
	{808, 2088, 3496, 6968, 10680, 14112},
	{936, 2344, 4008, 7992, 11832, 15840},
	{1032, 2664, 4392, 8760, 12960, 17568},
	{1192, 2984, 4968, 9912, 15264, 19848},
	{1352, 3368, 5736, 11448, 16992, 22920},
	{1544, 3880, 6456, 12960, 19080, 25456},
	{1736, 4264, 7224, 14112, 21384, 28336},
	{1800, 4584, 7736, 15264, 22920, 30576},
	{1928, 4968, 7992, 16416, 24496, 32856},
	{2152, 5352, 9144, 18336, 27376, 36696},
	{2344, 5992, 9912, 19848, 29296, 39232},
	{2600, 6456, 10680, 21384, 32856, 43816},
	{2792, 6968, 11448, 22920, 35160, 46888},
	{2984, 7480, 12576, 25456, 37888, 51024},
	{3240, 7992, 13536, 27376, 40576, 55056},
	{3496, 8504, 14112, 28336, 43816, 57336},
	{3624, 9144, 15264, 30576, 45352, 61664},
	{3752, 9528, 15840, 31704, 46888, 63776},
	{4392, 11064, 18336, 36696, 55056, 75376},
}

// TBS returns the transport block size in bits of one layer for a TBS index
// 0..26 and 1..100 PRB: the standard's value at 6, 15, 25, 50, 75 and 100 PRB,
// linear between (mean error 1.1 % against the full table, worst 8.3 % in
// small blocks), proportional below 6.
func TBS(itbs, prb int) int {
	row := &tbsTable[itbs]
	if prb <= tbsPRB[0] {
		return int(row[0]) * prb / tbsPRB[0]
	}
	i := 1
	for tbsPRB[i] < prb {
		i++
	}
	lo, hi := tbsPRB[i-1], tbsPRB[i]
	return int(row[i-1]) + int(row[i]-row[i-1])*(prb-lo)/(hi-lo)
}
