"""Modules whose hooks, buffers, children and mode change between calls; logging inside forward."""
import functools, logging, sys, contextlib, dataclasses, collections
import torch, torch.nn as nn
from typing import NamedTuple, Optional
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format='%(levelname)s %(name)s %(funcName)s %(lineno)d %(message)s')
log = logging.getLogger('net')
torch.manual_seed(0)


@dataclasses.dataclass
class Batch:
    x: torch.Tensor
    mask: Optional[torch.Tensor] = None
    meta: dict = dataclasses.field(default_factory=dict)

    def to(self, dtype):
        return dataclasses.replace(self, x=self.x.to(dtype))


class Out(NamedTuple):
    y: torch.Tensor
    aux: dict


ModelOutput = collections.namedtuple('ModelOutput', 'y n')


class Net(nn.Module):

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(*[nn.Linear(4, 4) for _ in range(4)])
        self.act = functools.partial(nn.functional.leaky_relu, negative_slope=0.3)
        self.register_buffer('count', torch.tensor(0.0))
        self.calls = 0
        self.heads = nn.ModuleDict({'a': nn.Linear(4, 2), 'b': nn.Linear(4, 3)})
        self.norms = nn.ModuleList([nn.LayerNorm(4), nn.BatchNorm1d(4)])
        self.w = nn.ParameterList([nn.Parameter(torch.ones(4) * i) for i in range(2)])

    def forward(self, batch, *, head='a'):
        self.calls += 1
        self.count += 1
        x = batch.x
        for layer in self.body[1:3]:
            x = self.act(layer(x))
        log.info('after body %s %.3f', tuple(x.shape), x.sum())
        for n, w in zip(self.norms, self.w):
            x = n(x) + w
        try:
            if batch.mask is not None:
                x = x.masked_fill(~batch.mask, 0)
            log.debug('hidden %s', x)
        finally:
            batch.meta['calls'] = self.calls
        return Out(self.heads[head](x), {'pre': x, **batch.meta})


def hook(m, args, out):
    log.info('hook %s %s', type(m).__name__, tuple(out.shape))
    return out * 2


def pre(m, args):
    return (args[0] + 1,)


def kwpre(m, args, kwargs):
    kwargs = dict(kwargs)
    kwargs['head'] = 'b'
    return (args, kwargs)


net = Net()
net.eval()
with torch.no_grad():
    b = Batch(torch.ones(2, 4))
    for i in range(2):
        o = net(b)
        print(o.y, o.aux['calls'], o._fields)
    h1 = net.heads['a'].register_forward_hook(hook)
    h2 = net.body[1].register_forward_pre_hook(pre)
    for i in range(2):
        print(net(b).y)
    h3 = net.register_forward_pre_hook(kwpre, with_kwargs=True)
    print(net(b).y)
    h3.remove()
    h1.remove()
    print(net(b).y)
    h2.remove()
    print(net(Batch(torch.ones(2, 4), torch.tensor([[True], [False]]))).y, net(b.to(torch.float32)).y)
    log.setLevel(logging.DEBUG)
    print(net(b, head='b').y)
    log.setLevel(logging.WARNING)
    print(net(b).y)
    sd = {k: v.clone() for k, v in net.state_dict().items()}
    sd['heads.a.bias'] += 1
    net.load_state_dict(sd)
    print(net(b).y, net.count)
    net.body = net.body[:2]
    print(net(b).y)
    net.act = torch.tanh
    print(net(b).y)
    net.heads['a'] = nn.Identity()
    print(net(b).y.shape)
    del net.heads['b']
    try:
        net(b, head='b')
    except KeyError as e:
        print('KeyError', e)
try:
    net('no')
except AttributeError as e:
    print(e)
try:
    net(Batch(torch.ones(2, 5)))
except RuntimeError as e:
    print(e)
net.apply(lambda m: print(type(m).__name__, end=' '))
print()
print([n for n, _ in net.named_parameters()][:4], sum((p.numel() for p in net.parameters())))
