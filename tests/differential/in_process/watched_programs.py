"""Programs that are watched: by profilers and tracers, of one thread and of all, for the whole time and from the middle on."""
import cProfile, profile, pstats, io, sys, torch, threading
class M(torch.nn.Module):
    def __init__(s):
        super().__init__(); s.a = torch.nn.Linear(4, 4)
    def forward(s, x):
        return torch.relu(s.a(x)) + 1
torch.manual_seed(0)
m = M()
def work(n=5):
    with torch.no_grad():
        return sum(m(torch.ones(2, 4)).sum() for _ in range(n))
def names(p):
    return sorted({f"{k[2]}:{v[0]}" for k, v in pstats.Stats(p, stream=io.StringIO()).stats.items() if k[2] in ("work", "forward", "<genexpr>")})
print(work())
for cls in (cProfile.Profile, profile.Profile):
    p = cls()
    if cls is cProfile.Profile:
        p.enable(); r = work(); p.disable()
    else:
        r = p.runcall(work)
    print(cls.__module__, r, names(p))
    print(work())
p = cProfile.Profile()
p.runctx("print(work())", globals(), {})
print(names(p))
seen = []
def prof(frame, event, arg):
    if frame.f_code.co_name in ("forward", "work"): seen.append((event, frame.f_code.co_name))
sys.setprofile(prof); work(2); sys.setprofile(None); print(seen); seen.clear()
def trace(frame, event, arg):
    if frame.f_code.co_name in ("forward", "work"): seen.append((event, frame.f_lineno)); return trace
sys.settrace(trace); work(2); sys.settrace(None); print(seen); seen.clear()
threading.setprofile(prof); t = threading.Thread(target=work, args=(2,)); t.start(); t.join(); threading.setprofile(None); print(seen); seen.clear()
threading.settrace(trace); t = threading.Thread(target=work, args=(2,)); t.start(); t.join(); threading.settrace(None); print(seen); seen.clear()
print(work())
# turned on in the middle by a callee
def on(): sys.setprofile(prof)
def mid(x):
    y = x * 2
    on()
    z = m(y)
    sys.setprofile(None)
    return z + y
for i in range(4):
    with torch.no_grad(): print(mid(torch.ones(2, 4)).sum(), seen); seen.clear()
with cProfile.Profile() as p:
    for i in range(3): work()
print(names(p))
