/* Scores a board under a reader's own choices. The same numbers as bench/scores/rescore.py, from the data of
   bench/scores/shipped.py; a test compares the two. NaN stands for what is missing or unknown. */
"use strict";
(() => {
  const DIGITS = new Map([..."0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"].map((digit, n) => [digit, n]));
  const ALPHA = 1 - 0.95;
  const CERTAIN = 1e-12;
  const OWN_FROM = 4;
  const POLICIES = {
    robust: { lowest: true, filled: true, shared: false },
    lowest: { lowest: true, filled: false, shared: false },
    left_out: { lowest: false, filled: false, shared: false },
    shared: { lowest: false, filled: false, shared: true },
  };
  const sum = (values) => values.reduce((a, b) => a + b, 0);
  const mean = (values) => sum(values) / values.length;
  const known = (values) => values.filter((value) => !Number.isNaN(value));
  const rounded = (value) => Math.round(value * 1e12) / 1e12;

  /* Student's t. */
  const logGamma = (x) => {
    let shift = 0;
    while (x < 20) shift -= Math.log(x++);
    const y = 1 / (x * x);
    const series = (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y * (1 / 1188 - (y * 691) / 360360))))) / x;
    return shift + (x - 0.5) * Math.log(x) - x + 0.9189385332046727418 + series;
  };
  const logBeta = (a, b) => logGamma(a) + logGamma(b) - logGamma(a + b);
  const fraction = (a, b, x) => {
    const tiny = 1e-300;
    const safe = (value) => (Math.abs(value) < tiny ? tiny : value);
    let c = 1;
    let d = 1 / safe(1 - ((a + b) * x) / (a + 1));
    let h = d;
    for (let m = 1; m <= 10000; m++) {
      let step = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
      d = 1 / safe(1 + step * d);
      c = safe(1 + step / c);
      h *= d * c;
      step = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
      d = 1 / safe(1 + step * d);
      c = safe(1 + step / c);
      const change = d * c;
      h *= change;
      if (Math.abs(change - 1) < 1e-16) break;
    }
    return h;
  };
  /* Regularised incomplete beta function; y = 1 - x. */
  const beta = (a, b, x, y) => {
    if (x <= 0) return 0;
    if (y <= 0) return 1;
    const front = Math.exp(a * Math.log(x) + b * Math.log(y) - logBeta(a, b));
    return x < (a + 1) / (a + b + 2) ? (front * fraction(a, b, x)) / a : 1 - (front * fraction(b, a, y)) / b;
  };
  /* The probability that t exceeds a value that is not negative. */
  const tail = (value, df) => {
    if (!(df > 0) || Number.isNaN(value)) return NaN;
    const square = value * value;
    return beta(df / 2, 0.5, df / (df + square), square / (df + square)) / 2;
  };
  const quantiles = new Map();
  /* The value that t exceeds with a probability of 2.5%: Newton's method from below, on a convex function. */
  const reachOf = (df) => {
    if (!(df > 0)) return NaN;
    if (!quantiles.has(df)) {
      const density = (t) => Math.exp(-logBeta(df / 2, 0.5) - ((df + 1) / 2) * Math.log1p((t * t) / df)) / Math.sqrt(df);
      let t = 1.95;
      for (let n = 0; n < 200; n++) {
        const step = (tail(t, df) - 0.025) / density(t);
        t += step;
        if (Math.abs(step) < 1e-14 * t) break;
      }
      quantiles.set(df, t);
    }
    return quantiles.get(df);
  };

  /* The shipped data as verdicts: cells[player][scene][repeat] = {ended, judged}, where judged has for each judge
     {refused, means} or null. */
  const decode = (data) => {
    const odd = new Map(data.odd);
    const ended = new Set(data.ended);
    const at = data.criteria.map(() => 0);
    const score = (text, place) => {
      let number = 0;
      for (let n = 0; n < data.width; n++) number = number * 62 + DIGITS.get(text[place + n]);
      return data.values[number];
    };
    let talk = 0;
    let verdict = 0;
    return data.players.map(() =>
      data.scenes.map((_, scene) =>
        Array.from({ length: data.repeats }, () => {
          const judged = data.judges.map(() => {
            const place = verdict++;
            const state = data.states[place];
            if (state === "-") return null;
            const turns = odd.get(place) ?? data.turns[scene];
            const means = data.scores.map((text, criterion) => {
              let total = 0;
              for (let n = 0; n < turns; n++, at[criterion] += data.width) total += score(text, at[criterion]);
              return total / turns;
            });
            return { refused: state === "r", means };
          });
          return { ended: ended.has(talk++), judged };
        }),
      ),
    );
  };

  /* How far each judge is above the mean of all judges, on one criterion; null if nothing links them. */
  const leniency = (rows) => {
    const judges = rows[0].length;
    const whole = rows.filter((row) => !row.some(Number.isNaN));
    if (whole.length) {
      const means = rows[0].map((_, judge) => mean(whole.map((row) => row[judge])));
      return means.map((value) => value - mean(means));
    }
    /* Least squares beside an effect of each conversation. */
    const normal = Array.from({ length: judges }, () => Array(judges).fill(0));
    const right = Array(judges).fill(0);
    const group = rows[0].map((_, judge) => judge);
    for (const row of rows) {
      const there = [...row.keys()].filter((judge) => !Number.isNaN(row[judge]));
      const own = mean(there.map((judge) => row[judge]));
      for (const a of there) {
        normal[a][a] += 1;
        right[a] += row[a] - own;
        for (const b of there) normal[a][b] -= 1 / there.length;
        const [from, to] = [group[a], group[there[0]]];
        group.forEach((name, judge) => name === from && (group[judge] = to));
      }
    }
    if (new Set(group).size > 1) return null;
    const size = judges - 1;
    const found = solve(normal.slice(0, size).map((row) => row.slice(0, size)), right.slice(0, size));
    if (!found) return null;
    const all = [...found, 0];
    return all.map((value) => value - mean(all));
  };
  /* Solves a system of linear equations; null if it is singular. */
  const solve = (table, right) => {
    const rows = table.map((row, n) => [...row, right[n]]);
    const most = Math.max(...table.flat().map(Math.abs), 0);
    for (let n = 0; n < rows.length; n++) {
      const pivot = rows.slice(n).reduce((best, row, m) => (Math.abs(row[n]) > Math.abs(rows[best][n]) ? n + m : best), n);
      [rows[n], rows[pivot]] = [rows[pivot], rows[n]];
      if (!(Math.abs(rows[n][n]) > 1e-12 * most)) return null;
      for (let m = n + 1; m < rows.length; m++) {
        const share = rows[m][n] / rows[n][n];
        for (let k = n; k < rows[m].length; k++) rows[m][k] -= share * rows[n][k];
      }
    }
    const found = Array(rows.length).fill(0);
    for (let n = rows.length - 1; n >= 0; n--) {
      const rest = found.reduce((total, value, k) => (k > n ? total + rows[n][k] * value : total), 0);
      found[n] = (rows[n][rows.length] - rest) / rows[n][n];
    }
    return found;
  };

  /* The chosen verdicts by player, scene, repeat and judge: {refused, means}, or null. */
  const chosenVerdicts = (data, cells, choices, policy) =>
    cells.map((scenes) =>
      choices.scenes.map((scene) =>
        scenes[scene].map(({ ended, judged }) => ({
          ended,
          judged: choices.judges.map((judge) => (judged[judge] && (policy.lowest || !judged[judge].refused) ? judged[judge] : null)),
        })),
      ),
    );

  /* Estimates for verdicts that are missing, from the other judges; [player][scene][repeat][judge] of means, or null. */
  const filled = (data, verdicts, choices, policy) => {
    const plain = verdicts.map((scenes) => scenes.map((talks) => talks.map(({ judged }) => judged.map((one) => one && one.means))));
    if (!policy.filled || choices.judges.length < 2) return plain;
    const rows = plain.flat(2).filter((judged) => judged.some(Boolean));
    const present = choices.judges.map((_, judge) => judge).filter((judge) => rows.some((judged) => judged[judge]));
    if (!rows.length) return plain;
    const found = data.criteria.map((_, c) => leniency(rows.map((judged) => present.map((judge) => (judged[judge] ? judged[judge][c] : NaN)))));
    if (found.some((offset) => offset === null)) return plain;
    const offsets = found.map((offset) => choices.judges.map((_, judge) => offset[present.indexOf(judge)]));
    const [low, high] = data.scale;
    return plain.map((scenes) =>
      scenes.map((talks, scene) =>
        talks.map((judged) => {
          if (!judged.some(Boolean)) return judged;
          const asked = data.asked && new Set(data.asked[choices.scenes[scene]]);
          return judged.map((means, judge) => {
            if (means || !present.includes(judge) || (asked && !asked.has(choices.judges[judge]))) return means;
            return data.criteria.map((_, c) => {
              const rest = judged.map((other, k) => (other ? other[c] - offsets[c][k] : NaN));
              return Math.min(Math.max(mean(known(rest)) + offsets[c][judge], low), high);
            });
          });
        }),
      ),
    );
  };

  /* The clusters of the scenes: for characters and for situations, the place of each scene's and their number. */
  const clustersOf = (scenes) =>
    [0, 1].map((side) => {
      const names = [...new Set(scenes.map((scene) => scene[side]))];
      const places = new Map(names.map((name, n) => [name, n]));
      return { of: scenes.map((scene) => places.get(scene[side])), count: names.length };
    });
  /* Means with clustered variances; see bench/scores/clusters.py. `values`: one for each scene. */
  const clustered = (values, sides) => {
    let n = 0;
    let total = 0;
    for (const value of values)
      if (value === value) {
        n += 1;
        total += value;
      }
    if (!n) return { mean: NaN, variance: NaN, df: NaN, n };
    const middle = total / n;
    const clusters = ({ of, count }) => {
      const sums = new Float64Array(count);
      const there = new Uint8Array(count);
      for (let k = 0; k < values.length; k++)
        if (values[k] === values[k]) {
          sums[of[k]] += values[k] - middle;
          there[of[k]] = 1;
        }
      let [used, squares] = [0, 0];
      for (let k = 0; k < count; k++) {
        used += there[k];
        squares += sums[k] * sums[k];
      }
      return [used > 1 ? (squares * (used / (used - 1))) / (n * n) : 0, Math.max(used - 1, 0)];
    };
    const [a, dfA] = clusters(sides[0]);
    const [b, dfB] = clusters(sides[1]);
    let squares = 0;
    for (const value of values) if (value === value) squares += (value - middle) * (value - middle);
    const c = squares / (n - 1) / n;
    const both = a + b - c;
    const piece = (v, df) => (df > 0 ? (v * v) / df : 0);
    const satterthwaite = Math.max((both * both) / (piece(a, dfA) + piece(b, dfB) + piece(c, n - 1)), Math.min(dfA, dfB));
    const larger = Math.max(a, b);
    const crossed = both > larger * (1 + 1e-9);
    const variance = crossed ? both : larger;
    const df = crossed ? satterthwaite : a >= b ? dfA : dfB;
    if (n < 2 || variance <= CERTAIN ** 2 || !(df >= 1)) return { mean: middle, variance: NaN, df: NaN, n };
    return { mean: middle, variance, df, n };
  };
  const widened = (these, added, addedDf) => {
    const variance = these.variance + added;
    const df = variance ** 2 / (these.variance ** 2 / these.df + added ** 2 / addedDf);
    if (df > these.df && Math.sqrt(variance) * reachOf(df) < Math.sqrt(these.variance) * reachOf(these.df)) return these;
    return { ...these, variance, df };
  };

  /* The variance of judges in a table scenes x judges (Henderson's method I); NaN if unknown. */
  const betweenJudges = (table) => {
    const rows = table.filter((row) => !row.every(Number.isNaN));
    if (rows.length < 2) return NaN;
    const columns = rows[0].map((_, judge) => rows.map((row) => row[judge]));
    if (columns.some((column) => column.every(Number.isNaN))) return NaN;
    const all = known(rows.flat());
    const n = all.length;
    const middle = mean(all);
    const parts = (lines) => lines.map((line) => known(line).map((value) => value - middle));
    const squared = (lines) => sum(lines.map((line) => sum(line) ** 2 / line.length));
    const sizes = (lines) => sum(lines.map((line) => line.length ** 2)) / n;
    const [byRow, byColumn] = [parts(rows), parts(columns)];
    const base = sum(all.map((value) => value - middle)) ** 2 / n;
    const totals = [squared(byRow) - base, squared(byColumn) - base, sum(all.map((value) => (value - middle) ** 2)) - base];
    const [r, k] = [n - sizes(byRow), n - sizes(byColumn)];
    const whole = solve(
      [
        [r, rows.length - sizes(byColumn), rows.length - 1],
        [columns.length - sizes(byRow), k, columns.length - 1],
        [r, k, n - 1],
      ],
      totals,
    );
    if (whole) return whole[1];
    const alone = solve([[k, columns.length - 1], [k, n - 1]], totals.slice(1));
    return alone ? alone[0] : NaN;
  };
  /* How much players' scores depend on the judges; null if unknown. `cube`: players x scenes x judges. */
  const judgeSpread = (cube, judges) => {
    const players = cube.length;
    if (judges < 2 || players < 2) return null;
    const field = cube[0].map((row, scene) => row.map((_, judge) => mean(known(cube.map((own) => own[scene][judge])))));
    const raw = cube.map((own) => betweenJudges(own.map((row, scene) => row.map((value, judge) => value - field[scene][judge]))));
    if (raw.every(Number.isNaN)) return null;
    const pooled = Math.max(0, (mean(known(raw)) * players) / (players - 1));
    const own = judges >= OWN_FROM ? raw.map((value) => (Number.isNaN(value) ? pooled : Math.max(value, 0))) : null;
    const pooledDf = (players - 1) * (judges - 1);
    return {
      ofMean: (p) => (own ? [own[p] / judges, judges - 1] : [pooled / judges, pooledDf]),
      ofPair: (p, q) => (own ? [(own[p] + own[q]) / judges, 2 * (judges - 1)] : [(2 * pooled) / judges, pooledDf]),
    };
  };

  /* The factor and shift of the length rule for each scored player; see bench/scores/paper.py. */
  const lengthTerms = (data, players, means, applies) => {
    const plain = players.map(() => [1, 0]);
    if (!applies || data.rule === "none" || !players.length) return plain;
    const lengths = players.map((p) => data.lengths[p]);
    const sorted = lengths.filter((length) => length !== null).sort((a, b) => a - b);
    const half = sorted.length / 2;
    const median = sorted.length ? (sorted[Math.ceil(half) - 1] + sorted[Math.floor(half)]) / 2 : 0;
    if (data.rule === "paper_v2")
      return lengths.map((length) => [!length || length <= median ? 1 : Math.max(1 - 0.07, 1 + 0.07 * (median / length - 1)), 0]);
    const span = Math.max(...means) - Math.min(...means);
    return lengths.map((length) => [1, median > 0 ? span * Math.min(0, Math.tanh((median - (length ?? 0)) / (3 * median))) : 0]);
  };

  /* Tests of all pairs, corrected for their number (Benjamini and Hochberg): [better, worse] of those that differ. */
  const beaten = (pairs) => {
    const order = pairs.filter((pair) => !Number.isNaN(pair.p)).sort((a, b) => a.p - b.p);
    let least = Infinity;
    const sure = [];
    for (let n = order.length - 1; n >= 0; n--) {
      least = Math.min(least, order[n].p * (order.length / (n + 1)));
      if (Math.min(least, 1) < ALPHA) sure.push(order[n].mean > 0 ? [order[n].first, order[n].second] : [order[n].second, order[n].first]);
    }
    return sure;
  };
  const standings = (means, errors, sure) => {
    const count = means.length;
    const above = Array(count).fill(0);
    const below = Array(count).fill(0);
    for (const [better, worse] of sure) {
      above[worse] += 1;
      below[better] += 1;
    }
    return means.map((score, n) => {
      const rank = 1 + means.filter((other) => other > score).length;
      const reach = reachOf(errors[n].df) * Math.sqrt(errors[n].variance);
      return {
        low: errors[n].mean - reach,
        high: errors[n].mean + reach,
        rank,
        rankLow: Math.min(1 + above[n], rank),
        rankHigh: Math.max(count - below[n], rank),
      };
    });
  };

  /* Scores a board. `choices`: weights (one for each criterion), judges and scenes (places in the data), refusals
     (a name of POLICIES), length (whether the length rule applies). Returns one entry for each scored player. */
  const rescore = (data, cells, choices) => {
    const policy = POLICIES[choices.refusals];
    const total = sum(choices.weights);
    const final = (means) => sum(means.map((value, c) => value * choices.weights[c])) / total;
    const verdicts = chosenVerdicts(data, cells, choices, policy);
    const means = filled(data, verdicts, choices, policy);
    const low = data.scale[0];
    const talkScore = ({ ended, judged }, estimates) => {
      if (policy.lowest && ended) return low;
      const finals = estimates.map((one, judge) => (policy.lowest && judged[judge]?.refused ? low : one ? final(one) : NaN));
      return mean(known(finals));
    };
    let scores = verdicts.map((scenes, p) => scenes.map((talks, s) => mean(known(talks.map((talk, r) => talkScore(talk, means[p][s][r]))))));
    let players = [...scores.keys()].filter((p) => scores[p].some((value) => !Number.isNaN(value)));
    if (policy.shared) {
      const shared = choices.scenes.map((_, s) => players.every((p) => !Number.isNaN(scores[p][s])));
      scores = scores.map((row) => row.map((value, s) => (shared[s] ? value : NaN)));
      if (!shared.some(Boolean)) players = [];
    }
    const sides = clustersOf(choices.scenes.map((scene) => data.scenes[scene]));
    const terms = lengthTerms(data, players, players.map((p) => mean(known(scores[p]))), choices.length);
    const grid = players.map((p, n) => scores[p].map((value) => value * terms[n][0] + terms[n][1]));
    const cube = players.map((p, n) =>
      verdicts[p].map((talks, s) =>
        choices.judges.map((_, judge) => {
          if (policy.shared && Number.isNaN(scores[p][s])) return NaN;
          const finals = talks.map(({ judged }) => judged[judge]).filter(Boolean);
          return mean(finals.map((one) => (one.refused ? low : final(one.means)))) * terms[n][0] + terms[n][1];
        }),
      ),
    );
    const spread = judgeSpread(cube, choices.judges.length);
    const own = grid.map((row) => clustered(row, sides));
    const points = own.map((one) => rounded(one.mean));
    const pairs = [];
    for (let first = 0; first < players.length; first++)
      for (let second = first + 1; second < players.length; second++)
        pairs.push({ first, second, ...clustered(grid[first].map((value, s) => value - grid[second][s]), sides) });
    const p = (pair) => 2 * tail(Math.abs(pair.mean) / Math.sqrt(pair.variance), pair.df);
    for (const pair of pairs) pair.p = p(pair);
    const fixed = standings(points, own, beaten(pairs));
    let sample = null;
    if (spread) {
      for (const pair of pairs) {
        const wider = widened(pair, ...spread.ofPair(pair.first, pair.second));
        pair.p = Math.max(pair.p, p(wider));
      }
      sample = standings(points, own.map((one, n) => widened(one, ...spread.ofMean(n))), beaten(pairs));
    }
    const used = choices.scenes.filter((_, s) => grid.some((row) => !Number.isNaN(row[s]))).length;
    return {
      scenes: used,
      players: players.map((player, n) => ({ player, score: points[n], fixed: fixed[n], sample: sample && sample[n] })),
    };
  };
  window.dramaturgRescore = { decode, rescore, POLICIES: Object.keys(POLICIES) };
})();
